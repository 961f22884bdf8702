"""Values as JSON for files and streams in UTF-8."""

from __future__ import annotations

import json


def json_text(value: object, indent: int | None = None) -> str:
    """JSON with readable characters. If there is half a surrogate pair, which UTF-8 cannot hold, they are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent)
    return text

"""Model files with a changed content and the right digests."""

import json

from kernline.model_files.tensor_file import TensorFile, write_tensors


def described_by(path):
    """The tree and the arrays of a file."""
    with TensorFile(path) as file:
        return json.loads(file.metadata["kernline"]), {name: file.read(name) for name in file.entries}


def forged(path, change):
    """Change the content of a file."""
    tree, arrays = described_by(path)
    change(tree, arrays)
    with open(path, "wb") as file:
        write_tensors(file, arrays, {"kernline": json.dumps(tree)})
    return path


def at(tree, *names):
    """The node of an attribute, by names of attributes and fields."""
    node = tree["model"]["attributes"]
    for name in names:
        node = node[name] if name in node else node["fields"][name]
    return node


def put(*names_and_value):
    """A change that sets the attribute with these names to the value."""
    *names, last, value = names_and_value

    def change(tree, arrays):
        node = at(tree, *names)
        (node["fields"] if last in node.get("fields", ()) else node)[last] = value

    return change


def edit(name, edited):
    """A change to an array."""

    def change(tree, arrays):
        arrays[name] = edited(arrays[name].copy())

    return change


def setting(place, value):
    """An edit that sets one element."""

    def edited(array):
        array[place] = value
        return array

    return edited

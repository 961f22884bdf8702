"""Programs for those who develop Kernline: pages made from code, checks, wheels."""

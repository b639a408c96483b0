"""What a tree under trial is: its sources, the options and compilers that they go through, what they define, and how
that compares with the specs. Nothing of a port is executed here.
"""

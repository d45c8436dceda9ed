"""Real packets: commands of this machine behind links that the core emulates. Linux only.

`link` turns what a person says of a link into a scenario's keys; `access` tells what this process may do; `shell` runs
a command behind the link; `view` shows it on a terminal. The core makes namespaces, devices and the link, and takes
them away again.
"""

"""fastmcp with its tool search, before the servers of a file and over HTTP.

Usage: searching.py FILE PORT
"""

import json
import sys

from fastmcp.server import create_proxy
from fastmcp.server.transforms.search import BM25SearchTransform


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        server = create_proxy(json.load(file))
    server.add_transform(BM25SearchTransform())
    server.run(
        transport="http",
        host="127.0.0.1",
        port=int(sys.argv[2]),
        show_banner=False,
        log_level="ERROR",
    )


main()

"""Runs Rotel, a collector, in this process.

`collector.py HTTP GRPC URL` receives OTLP at these two addresses and passes all of it on to the OTLP endpoint URL.
"""

import os
import sys
from pathlib import Path

import rotel

http, grpc, url = sys.argv[1:]
program = str(Path(rotel.__file__).parent / "rotel-agent")
options = {
    "--otlp-http-endpoint": http,
    "--otlp-grpc-endpoint": grpc,
    "--exporter": "otlp",
    "--otlp-exporter-endpoint": url,
    "--otlp-exporter-protocol": "http",
}
words = [word for option in options.items() for word in option]
os.execv(program, [program, "start", *words])

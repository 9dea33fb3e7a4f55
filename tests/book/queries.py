"""What readers type into the search, and the page that answers it; chosen before the first search was run."""

MECHANICS, TRAINING, MONITORING = "chapters/mechanics/", "chapters/training/", "chapters/monitoring/"
CLIPPING, PROFILING = "chapters/clipping/", "chapters/profiling/"

QUERIES = {
    # names of the API
    "no_grad": MECHANICS + "turning_tracking_off",
    "detach": MECHANICS + "turning_tracking_off",
    "zero_grad": TRAINING + "one_step_of_training",
    "retain_graph": MECHANICS + "what_backward_does",
    "clip_grad_norm_": CLIPPING + "clip_the_gradient",
    "GradScaler": TRAINING + "half_the_bits",
    "register_hook": MECHANICS + "looking_in_on_the_walk",
    "torch.autograd.Function": MECHANICS + "a_rule_of_your_own",
    "custom_vjp": MECHANICS + "a_rule_of_your_own",
    "vmap": MECHANICS + "per_sample_gradients",
    "torch.compile": MECHANICS + "both_passes_compiled",
    "DistributedDataParallel": TRAINING + "two_processes",
    "checkpoint": MECHANICS + "activation_memory",
    "gradcheck": MECHANICS + "a_rule_of_your_own",
    # the field's words
    "mixed precision": TRAINING + "half_the_bits",
    "AMP": TRAINING + "half_the_bits",
    "gradient accumulation": TRAINING + "a_batch_in_pieces",
    "vanishing gradients": MONITORING + "what_a_layer_does",
    "hessian vector product": MECHANICS + "jacobians_and_hessians",
    "roofline": PROFILING + "under_the_roof",
    "MFU": PROFILING + "under_the_roof",
    "gradient noise scale": MONITORING + "how_large_a_batch",
    "custom op": MECHANICS + "a_rule_of_your_own",
    "autograd from scratch": MECHANICS + "build_the_engine",
    "forward mode": MECHANICS + "forward_or_reverse",
    "learning rate": TRAINING + "how_far_to_step",
    # messages of errors, pasted
    "Trying to backward through the graph a second time": MECHANICS + "error_messages",
    "element 0 of tensors does not require grad and does not have a grad_fn": MECHANICS + "error_messages",
    "grad can be implicitly created only for scalar outputs": MECHANICS + "error_messages",
    "has been modified by an inplace operation": MECHANICS + "error_messages",
    "unscale_() has already been called": MECHANICS + "more_error_messages",
    "Expected to have finished reduction in the prior iteration": MECHANICS + "more_error_messages",
    # symptoms
    "loss is nan": MONITORING + "the_first_nan",
    "loss not decreasing": MONITORING + "eight_broken_runs",
    "grad is None": MECHANICS + "turning_tracking_off",
    "out of memory": PROFILING + "what_is_in_memory",
    "memory": PROFILING + "what_is_in_memory",
    "exploding gradients": MONITORING + "what_a_layer_does",
    "training is slow": PROFILING + "bottlenecks",
    "gpu idle": PROFILING + "bottlenecks",
    # pages that came later
    "learning rate warmup": TRAINING + "schedules_and_warm_up",
    "cosine schedule": TRAINING + "schedules_and_warm_up",
    "FSDP": TRAINING + "sharded_training",
    "fully_shard": TRAINING + "sharded_training",
    "transformer training loop": TRAINING + "a_small_transformer",
    "cuda synchronize timing": PROFILING + "timing_a_step",
    "benchmark a step": PROFILING + "timing_a_step",
    "pitfalls": "chapters/reference/pitfalls",
}

# A name that only the library has leads to its entry in the reference, which has the arguments that whoever types the
# name looks for, and links to the pages that use it. A name that the engine shares with torch leads to the page that
# teaches it, as above.
ENTRIES = {
    "GradientMonitor": "course_lib.monitoring.GradientMonitor",
    "first_nonfinite": "course_lib.monitoring.first_nonfinite",
    "compute_grad_norm": "course_lib.monitoring.compute_grad_norm",
    "DeadUnits": "course_lib.monitoring.DeadUnits",
    "profile_step": "course_lib.profiling.profile_step",
    "time_call": "course_lib.profiling.time_call",
    "memory_timeline": "course_lib.profiling.memory_timeline",
    "count_flops": "course_lib.instrument.count_flops",
    "clip_by_global_norm": "course_lib.clipping.clip_by_global_norm",
    "train_epoch": "course_lib.training.train_epoch",
    "manual_mlp_grad": "course_lib.mlp.manual_mlp_grad",
    "CheckpointPlan": "course_lib.costs.CheckpointPlan",
    "NonFiniteError": "course_lib.errors.NonFiniteError",
    "backward_stepper": "course_lib.figures.backward_stepper",
}

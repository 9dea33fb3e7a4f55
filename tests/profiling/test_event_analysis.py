"""The marks of bottlenecks in what a profiler has recorded, with times that a test has chosen."""

import pytest
from torch.autograd import DeviceType
from torch.autograd.profiler_util import FunctionEvent

from course_lib.profiling.event_analysis import break_down_step


class Recorded:
    """Events as torch's profiler gives them, with times that a test has chosen, in microseconds."""

    def __init__(self, *, device=None):
        self.events, self.device, self.busy_until = [], device, {}

    def add(self, name, start, end, *, inside=None, kernel=None, kernel_name="void at::a_kernel", stream=7):
        """Record one call, inside another, with a kernel of some length on the device, after the stream's last."""
        event = FunctionEvent(len(self.events), name, 1, start, end, use_device=self.device)
        if inside is not None:
            inside.append_cpu_child(event)
            event.set_cpu_parent(inside)
        if kernel is not None:
            at = max(start, self.busy_until.get(stream, 0))
            self.busy_until[stream] = at + kernel
            event.append_kernel(kernel_name, 0, kernel)
            self.events.append(
                FunctionEvent(
                    0, kernel_name, 1, at, at + kernel, device_type=DeviceType.CUDA, device_resource_id=stream
                )
            )
        self.events.append(event)
        return event


def milliseconds(events):
    """Return what was seen of each kind."""
    return {
        kind: round(seconds * 1e3, 6) for kind, seconds in break_down_step(events).seconds.items() if seconds > 1e-9
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aten::addmm", "products"),
        ("aten::addmm_", "products"),
        ("aten::convolution_backward", "products"),
        ("aten::mkldnn_convolution", "products"),
        ("aten::_slow_conv2d_forward", "products"),
        ("aten::slow_conv_dilated3d", "products"),
        ("aten::_conv_depthwise2d", "products"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "products"),
        ("aten::_cudnn_rnn", "products"),
        ("aten::_linalg_svd", "products"),
        ("aten::linalg_vector_norm", "passes"),
        ("aten::upsample_linear1d", "passes"),
        ("aten::_thnn_fused_lstm_cell", "passes"),
        ("aten::copy_", "copies"),
        ("aten::_foreach_copy_", "copies"),
        ("aten::cat", "copies"),
        ("aten::clone", "copies"),
        ("aten::_to_copy", "copies"),
        ("aten::mul", "passes"),
        ("aten::_log_softmax", "passes"),
        ("mine::fused", "passes"),
        ("flash_attn::_flash_attn_forward", "products"),
        ("aten::_flash_attention_backward", "products"),
        ("xformers_flash3::flash_fwd", "products"),
        ("aten::_scaled_mm", "products"),
        ("deep_gemm::fp8_nt", "products"),
        ("triton_tem_fused_addmm_1", "products"),
        ("triton_poi_fused_convolution_relu_0", "passes"),
        ("triton_red_fused__scaled_dot_product_attention_mm_2", "passes"),
        ("triton_per_fused_addmm_native_layer_norm_3", "passes"),
        ("c10d::allreduce_", "communication"),
        ("_c10d_functional::wait_tensor", "communication"),
        ("record_param_comms", "communication"),
        ("Torch-Compiled Region: 0/0", "passes"),
    ],
)
def test_an_operation_is_known_by_its_name(name, kind):
    """A long call counts with its kind, and what is around it as time between operations."""
    seen = Recorded()
    step = seen.add("ProfilerStep#1", 0, 1000)
    seen.add(name, 90, 910, inside=step)
    assert milliseconds(seen.events) == {kind: 0.82, "calls": 0.18}


def test_a_short_call_is_mostly_the_calling():
    """Below ten microseconds the name does not matter; at ten it does."""
    seen = Recorded()
    step = seen.add("ProfilerStep#1", 0, 100)
    seen.add("aten::mm", 0, 9, inside=step)
    seen.add("aten::mm", 20, 30, inside=step)
    assert milliseconds(seen.events) == {"products": 0.01, "calls": 0.09}
    assert break_down_step(seen.events).evidence["calls"] == "2 operations a step, 1 of them under 10 µs"


def test_time_counts_once_where_calls_are_nested():
    """What an operation calls is not its own time, and the outermost operation is named."""
    seen = Recorded()
    step = seen.add("ProfilerStep#1", 0, 1000)
    outer = seen.add("aten::contiguous", 0, 600, inside=step)
    seen.add("aten::copy_", 100, 600, inside=outer)
    engine = seen.add("autograd::engine::evaluate_function: MmBackward0", 600, 1000, inside=step)
    node = seen.add("MmBackward0", 600, 1000, inside=engine)
    seen.add("aten::mm", 700, 910, inside=node)
    assert milliseconds(seen.events) == {"copies": 0.6, "products": 0.21, "outside": 0.1, "calls": 0.09}
    evidence = break_down_step(seen.events).evidence
    assert evidence["copies"] == "copy_ in contiguous (1 x 500 µs); contiguous (1 x 100 µs)"
    assert evidence["products"] == "mm in MmBackward0 (1 x 210 µs)"
    assert evidence["outside"] == "in MmBackward0 (1 x 100 µs)"


def test_waiting_for_a_batch_counts_whole():
    """Also what the loader computes meanwhile, which no change to the model would make quicker."""
    seen = Recorded()
    step = seen.add("ProfilerStep#1", 0, 1000)
    loader = seen.add("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 700, inside=step)
    seen.add("aten::stack", 100, 600, inside=loader)
    seen.add("aten::mm", 700, 1000, inside=step)
    assert milliseconds(seen.events) == {"data": 0.7, "products": 0.3}


def test_a_busy_spell_of_the_machine_moves_nothing():
    """The median over the steps counts for each call, and for the time between them."""
    seen = Recorded()
    for i, late in enumerate((20, 5000, 0)):
        start = i * 10_000
        step = seen.add(f"ProfilerStep#{i}", start, start + 650 + 2 * late)
        seen.add("aten::mm", start, start + 600 + late, inside=step)
    assert milliseconds(seen.events) == {"products": 0.62, "calls": 0.07}


@pytest.mark.parametrize("typed", [True, False])
def test_on_a_device_its_own_clock_counts(typed):
    """A quick launch of a long kernel is the kernel; what the device was idle is what the host did meanwhile.

    Older releases of torch do not say that an event is a call of the device's library: its name does.
    """
    seen = Recorded(device="cuda")
    step = seen.add("ProfilerStep#1", 0, 1000)
    seen.add("enumerate(DataLoader)#_Iter.__next__", 0, 50, inside=step)
    seen.add("aten::mm", 50, 55, inside=step, kernel=700)
    seen.add("aten::copy_", 60, 64, inside=step, kernel=4)
    seen.add("aten::view", 184, 185, inside=step)
    seen.add("cudaDeviceSynchronize", 185, 500, inside=step).activity_type = "cuda_runtime"
    seen.add("cuStreamSynchronize", 500, 950, inside=step).activity_type = "cuda_driver"
    if not typed:
        for event in seen.events:
            vars(event).pop("activity_type", None)
    marks = break_down_step(seen.events)
    assert marks.device == "cuda"
    assert marks.evidence["calls"] == "3 operations a step"
    assert marks.evidence["outside"] == "before view (1 x 120 µs)"
    found = {"data": 0.05, "products": 0.7, "copies": 0.004, "outside": 0.12, "calls": 0.126}
    assert milliseconds(seen.events) == found


def test_an_operation_of_every_other_step_is_left_out():
    """Such as an evaluation now and then: of three steps two must have it."""
    seen = Recorded()
    for i, extra in enumerate((["aten::exp"], [])):
        step = seen.add(f"ProfilerStep#{i}", 1000 * i, 1000 * i + 1000)
        seen.add("aten::mm", 1000 * i, 1000 * i + 500, inside=step)
        for name in extra:
            seen.add(name, 1000 * i + 500, 1000 * i + 1000, inside=step)
    assert milliseconds(seen.events)["products"] == 0.5
    assert "passes" not in milliseconds(seen.events)


def test_what_begins_when_a_step_is_over_is_not_its_own():
    """As what follows the last one."""
    seen = Recorded()
    seen.add("aten::mm", 0, 1000, inside=seen.add("ProfilerStep#1", 0, 1000))
    seen.add("aten::exp", 1000, 1500)
    assert milliseconds(seen.events) == {"products": 1.0}


def test_the_wait_for_a_batch_is_that_of_one_step():
    """The mean, since a loader's workers may be late in some steps only."""
    seen = Recorded()
    for i, late in enumerate((100, 300)):
        step = seen.add(f"ProfilerStep#{i}", 1000 * i, 1000 * i + 500 + late)
        seen.add("enumerate(DataLoader)#_Iter.__next__", 1000 * i, 1000 * i + late, inside=step)
        seen.add("aten::mm", 1000 * i + late, 1000 * i + 500 + late, inside=step)
    assert milliseconds(seen.events) == {"data": 0.2, "products": 0.5}
    assert break_down_step(seen.events).evidence["data"] == "200 µs a step in enumerate(DataLoader)"


def test_calls_that_overlap_leave_one_pause():
    """As on several threads: the pause begins when the last of them is over."""
    seen = Recorded()
    step = seen.add("ProfilerStep#1", 0, 1000)
    seen.add("aten::mm", 0, 950, inside=step)
    seen.add("aten::mm", 100, 200, inside=step)
    assert milliseconds(seen.events) == {"products": 1.05, "calls": 0.05}


def test_the_two_operations_with_the_most_time_are_evidence():
    """With their calls in one step, and the mean of these."""
    seen = Recorded()
    step = seen.add("ProfilerStep#1", 0, 600)
    for name, start, end in (("exp", 0, 100), ("sin", 100, 130), ("exp", 130, 330), ("mul", 330, 600)):
        seen.add(f"aten::{name}", start, end, inside=step)
    assert break_down_step(seen.events).evidence["passes"] == "exp (2 x 150 µs); mul (1 x 270 µs)"


@pytest.mark.parametrize(
    ("kernel", "found"),
    [
        (980, {"products": 0.98, "data": 0.02}),
        (850, {"products": 0.85, "data": 0.1, "outside": 0.05}),
        (1200, {"products": 1.2}),
    ],
)
def test_what_the_host_does_while_the_device_works_costs_nothing(kernel, found):
    """Waiting counts for as long as the device was idle, then code outside of torch; nothing is less than no time."""
    seen = Recorded(device="cuda")
    step = seen.add("ProfilerStep#1", 0, 1000)
    seen.add("enumerate(DataLoader)#_Iter.__next__", 0, 100, inside=step)
    seen.add("aten::mm", 100, 105, inside=step, kernel=kernel)
    seen.add("aten::view", 405, 406, inside=step)
    seen.add("cudaDeviceSynchronize", 406, 1000, inside=step).activity_type = "cuda_runtime"
    assert milliseconds(seen.events) == found
    assert min(break_down_step(seen.events).seconds.values()) >= 0


def test_a_busy_spell_of_the_host_is_no_time_of_the_device():
    """The median of the steps, here of 1, 9 and 1 milliseconds."""
    seen = Recorded(device="cuda")
    for i, end in enumerate((1000, 9000, 1000)):
        step = seen.add(f"ProfilerStep#{i}", 10_000 * i, 10_000 * i + end)
        seen.add("aten::mm", 10_000 * i, 10_000 * i + 5, inside=step, kernel=700)
    assert sum(milliseconds(seen.events).values()) == pytest.approx(1.0)


def test_what_inductor_has_compiled_has_a_name():
    """Its mark is a hash between signs."""
    recorded = Recorded()
    step = recorded.add("ProfilerStep#1", 0, 2000)
    region = recorded.add("Torch-Compiled Region: 0/0", 0, 2000, inside=step)
    recorded.add("## Call CompiledFxGraph fq3x ##", 100, 1900, inside=region)
    assert "compiled code" in " ".join(break_down_step(recorded.events).evidence.values())


@pytest.mark.parametrize(
    ("operation", "kernel", "kind"),
    [
        ("Torch-Compiled Region: 0/0", "triton_poi_fused_convolution_relu_0", "passes"),
        ("Torch-Compiled Region: 0/0", "sm90_xmma_gemm_bf16bf16_bf16f32", "products"),
        ("CompiledFunction", "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64>>", "products"),
        ("CompiledFunction", "Memcpy DtoD (Device -> Device)", "copies"),
        ("FlashAttnFunc", "void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", "products"),
        ("te_quantize", "void transformer_engine::cast_transpose_fused_kernel", "passes"),
        ("te_linear", "nvjet_qqtst_128x256_128x4_2x1_v_bz_TNT", "products"),
        ("c10d::allreduce_", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "communication"),
        ("aten::mul", "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor>", "passes"),
    ],
)
def test_a_kernel_tells_what_its_operation_does_not(operation, kernel, kind):
    """In compiled code, a CUDA graph and extensions; even where the event is no operation of torch."""
    seen = Recorded(device="cuda")
    step = seen.add("ProfilerStep#1", 0, 1000)
    seen.add(operation, 0, 20, inside=step, kernel=900, kernel_name=kernel)
    assert milliseconds(seen.events) == {kind: 0.9, "outside": 0.1}


def test_work_on_several_streams_is_not_added_up():
    """Of what runs at once, products hide copies, and both hide communication; the evidence says how much."""
    seen = Recorded(device="cuda")
    for start in (0, 2000):
        step = seen.add(f"ProfilerStep#{start}", start, start + 1000)
        seen.add("aten::mm", start, start + 5, inside=step, kernel=600)
        seen.add("aten::copy_", start + 10, start + 15, inside=step, kernel=200, kernel_name="Memcpy HtoD", stream=8)
        nccl = {"kernel_name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "stream": 9}
        seen.add("record_param_comms", start + 200, start + 205, inside=step, kernel=700, **nccl)
    found = break_down_step(seen.events)
    assert milliseconds(seen.events) == {"products": 0.6, "communication": 0.3, "outside": 0.1}
    assert sum(found.seconds.values()) == pytest.approx(1e-3)
    assert found.evidence["communication"] == "record_param_comms (1 x 700 µs); 57% of it while other work ran"
    assert found.evidence["products"] == "mm (1 x 600 µs)"


def test_on_one_stream_nothing_is_hidden():
    """The same kernels, one after the other."""
    seen = Recorded(device="cuda")
    step = seen.add("ProfilerStep#1", 0, 1000)
    for at, name in ((0, "aten::mm"), (10, "aten::mul"), (20, "aten::mm")):
        seen.add(name, at, at + 5, inside=step, kernel=300)
    assert milliseconds(seen.events) == {"products": 0.6, "passes": 0.3, "outside": 0.1}


def test_an_exchange_on_another_thread_costs_what_the_step_waits_for_it():
    """As gloo's: the pause while it runs is communication, and what it does behind a product costs nothing."""
    seen = Recorded()
    step = seen.add("ProfilerStep#1", 0, 2000)
    seen.add("c10d::allreduce_", 0, 20, inside=step)
    seen.add("aten::mm", 20, 1020, inside=step)
    exchange = seen.add("gloo:all_reduce", 5, 1720)
    exchange.is_async = exchange.is_user_annotation = True
    assert milliseconds(seen.events) == {"products": 1.0, "communication": 0.72, "outside": 0.28}
    assert "gloo:all_reduce (1 x 700 µs)" in break_down_step(seen.events).evidence["communication"]

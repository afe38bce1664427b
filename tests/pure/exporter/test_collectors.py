"""What each collector makes of what its commands print and its files hold."""

from __future__ import annotations

import pytest

from slurmpod_exporter.collector import CollectorFailed
from slurmpod_exporter.collectors.efa import EFA
from slurmpod_exporter.collectors.lustre import LUSTRE
from slurmpod_exporter.collectors.neuron import COMMAND as NEURON_MONITOR
from slurmpod_exporter.collectors.neuron import NEURON
from slurmpod_exporter.collectors.nvidia_gpu import DCGM, GPU, GPU_FIELDS, XID
from tests.pure.exporter.fake_host import FakeHost, found, sample

PORT = "/sys/class/infiniband/rdmap79s0/ports/1"


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


class TestGpu:
    def test_a_node_without_driver_or_without_devices_has_none(self, host: FakeHost) -> None:
        host.files["/dev/nvidia0"] = ""
        assert not GPU.is_present(host)
        host.prints("nvidia-smi", "")
        assert GPU.is_present(host)
        del host.files["/dev/nvidia0"]
        assert not GPU.is_present(host)
        assert not XID.is_present(host)

    def test_every_gpu_is_told_in_base_units(self, host: FakeHost) -> None:
        host.prints("nvidia-smi", sample("nvidia-smi.csv"))
        seen = found(GPU, host)
        assert f"--query-gpu={','.join(GPU_FIELDS)}" in host.ran[0]
        assert seen["slurmpod_gpu_utilization_ratio{gpu=0}"] == pytest.approx(0.97)
        assert seen["slurmpod_gpu_memory_used_bytes{gpu=0}"] == 71230 * 1024**2
        assert seen["slurmpod_gpu_memory_bytes{gpu=0}"] == 81559 * 1024**2
        assert seen["slurmpod_gpu_temperature_celsius{gpu=1}"] == 33
        assert seen["slurmpod_gpu_power_watts{gpu=0}"] == 689.31
        assert seen["slurmpod_gpu_ecc_errors_total{gpu=1,kind=corrected}"] == 12
        assert seen["slurmpod_gpu_ecc_errors_total{gpu=1,kind=uncorrected}"] == 1

    def test_what_a_gpu_does_not_have_is_left_out(self, host: FakeHost) -> None:
        host.prints("nvidia-smi", sample("nvidia-smi.csv"))
        of_third = [name for name in found(GPU, host) if "{gpu=2" in name]
        assert len(of_third) == 5
        assert not [name for name in of_third if "ecc" in name or "power" in name]

    def test_xid_errors_are_counted_by_gpu_and_kind(self, host: FakeHost) -> None:
        host.prints("nvidia-smi", "")
        host.files["/dev/nvidia0"] = ""
        host.prints("journalctl", sample("kernel.log"))
        assert XID.is_present(host)
        assert found(XID, host) == {
            "slurmpod_gpu_xid_errors_total{pci=0000:53:00,xid=79}": 1,
            "slurmpod_gpu_xid_errors_total{pci=0000:64:00,xid=31}": 2,
        }


class TestDcgm:
    @pytest.fixture
    def host(self) -> FakeHost:
        host = FakeHost()
        host.files["/dev/nvidia0"] = ""
        host.prints("nvidia-smi --query-gpu=compute_cap", "9.0\n9.0\n")
        host.prints("dcgmi dmon", sample("dcgmi-dmon.txt"))
        return host

    def test_a_node_without_dcgm_or_without_gpus_has_none(self, host: FakeHost) -> None:
        assert DCGM.is_present(host)
        del host.files["/dev/nvidia0"]
        assert not DCGM.is_present(host)
        host.files["/dev/nvidia0"] = ""
        del host.outputs["dcgmi dmon"]
        assert not DCGM.is_present(host)

    @pytest.mark.parametrize(
        ("capabilities", "asked"),
        [("8.0\n", False), ("8.6\n", False), ("[N/A]\n", False), ("", False), ("10.3\n", True)],
    )
    def test_gpus_whose_counters_it_would_take_are_not_asked(
        self, host: FakeHost, capabilities: str, asked: bool
    ) -> None:
        host.prints("nvidia-smi --query-gpu=compute_cap", capabilities)
        assert DCGM.is_present(host) == asked

    def test_the_latest_of_every_field_is_told_by_gpu(self, host: FakeHost) -> None:
        seen = found(DCGM, host)
        fields = "1002,1003,1004,1005,1009,1010,1011,1012"
        assert host.ran == [f"dcgmi dmon --field-id={fields} --count=3"]
        assert {name: value for name, value in seen.items() if name.endswith("{gpu=0}")} == {
            "DCGM_FI_PROF_SM_ACTIVE{gpu=0}": 0.913,
            "DCGM_FI_PROF_SM_OCCUPANCY{gpu=0}": 0.458,
            "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu=0}": 0.387,
            "DCGM_FI_PROF_DRAM_ACTIVE{gpu=0}": 0.642,
            "DCGM_FI_PROF_PCIE_TX_BYTES{gpu=0}": 812646400,
            "DCGM_FI_PROF_PCIE_RX_BYTES{gpu=0}": 104857600,
            "DCGM_FI_PROF_NVLINK_TX_BYTES{gpu=0}": 86973087744,
            "DCGM_FI_PROF_NVLINK_RX_BYTES{gpu=0}": 86956310528,
        }
        assert seen["DCGM_FI_PROF_DRAM_ACTIVE{gpu=1}"] == 0.001

    def test_what_a_gpu_does_not_have_is_left_out(self, host: FakeHost) -> None:
        of_second = [name for name in found(DCGM, host) if "{gpu=1}" in name]
        assert len(of_second) == 6
        assert not [name for name in of_second if "NVLINK" in name]

    def test_before_anything_is_measured_there_is_nothing_to_tell(self, host: FakeHost) -> None:
        host.prints("dcgmi dmon", "".join(sample("dcgmi-dmon.txt").splitlines(keepends=True)[:5]))
        assert found(DCGM, host) == {}

    def test_a_refusal_is_no_failure_and_is_told_once(
        self, host: FakeHost, caplog: pytest.LogCaptureFixture
    ) -> None:
        host.fails("dcgmi dmon", "dcgmi ended with 235: unable to establish a connection")
        with caplog.at_level("INFO"):
            assert found(DCGM, host) == {}
            assert found(DCGM, host) == {}
        assert caplog.messages == ["dcgm: dcgmi ended with 235: unable to establish a connection"]

    def test_a_table_of_other_columns_is_not_misread(self, host: FakeHost) -> None:
        host.prints("dcgmi dmon", "GPU 0     0.5     0.4\n")
        with pytest.raises(ValueError, match="shorter"):
            found(DCGM, host)


class TestNeuron:
    def test_cores_show_the_runtime_that_uses_them(self, host: FakeHost) -> None:
        host.prints(NEURON_MONITOR, sample("neuron-monitor.json"))
        seen = found(NEURON, host)
        assert seen["slurmpod_neuron_core_utilization_ratio{core=0}"] == 0.425
        assert seen["slurmpod_neuron_core_utilization_ratio{core=1}"] == 0.99

    def test_memory_and_failures_are_those_of_all_runtimes(self, host: FakeHost) -> None:
        host.prints(NEURON_MONITOR, sample("neuron-monitor.json"))
        seen = found(NEURON, host)
        assert seen["slurmpod_neuron_memory_used_bytes{where=neuron_device}"] == 102300328
        assert seen["slurmpod_neuron_execution_errors{kind=hardware}"] == 1
        assert seen["slurmpod_neuron_execution_errors{kind=numerical}"] == 2

    def test_devices_tell_their_memory_errors(self, host: FakeHost) -> None:
        host.prints(NEURON_MONITOR, sample("neuron-monitor.json"))
        seen = found(NEURON, host)
        assert seen["slurmpod_neuron_ecc_errors{device=6,kind=mem_ecc_uncorrected}"] == 1
        assert "slurmpod_neuron_ecc_errors{device=6,kind=sram_ecc_corrected}" not in seen

    def test_an_idle_node_has_no_cores_in_use(self, host: FakeHost) -> None:
        host.prints(NEURON_MONITOR, '{"neuron_runtime_data": null, "system_data": null}')
        seen = found(NEURON, host)
        assert seen["slurmpod_neuron_memory_used_bytes{where=host}"] == 0
        assert not [name for name in seen if "core_utilization" in name or "ecc" in name]

    def test_a_node_with_the_tools_but_no_device_has_none(self, host: FakeHost) -> None:
        host.prints(NEURON_MONITOR, "")
        assert not NEURON.is_present(host)
        host.files["/dev/neuron0"] = ""
        assert NEURON.is_present(host)

    def test_what_is_no_json_is_a_failure(self, host: FakeHost) -> None:
        host.prints(NEURON_MONITOR, "neuron-monitor: no devices")
        with pytest.raises(CollectorFailed, match="no JSON"):
            found(NEURON, host)


class TestEfa:
    def test_counters_of_each_device(self, host: FakeHost) -> None:
        host.files = {
            f"{PORT}/state": "4: ACTIVE\n",
            f"{PORT}/hw_counters/tx_bytes": "123456789012\n",
            f"{PORT}/hw_counters/rdma_read_wr_err": "3\n",
            f"{PORT}/hw_counters/lifespan": "12\n",
        }
        assert EFA.is_present(host)
        assert found(EFA, host) == {
            "slurmpod_efa_port_active{device=rdmap79s0,port=1}": 1,
            "slurmpod_efa_bytes_total{device=rdmap79s0,port=1,kind=tx}": 123456789012,
            "slurmpod_efa_errors_total{device=rdmap79s0,port=1,kind=rdma_read_wr_err}": 3,
        }

    def test_a_port_that_is_down_is_not_active(self, host: FakeHost) -> None:
        host.files = {f"{PORT}/state": "1: DOWN\n"}
        assert found(EFA, host) == {"slurmpod_efa_port_active{device=rdmap79s0,port=1}": 0}

    def test_a_node_without_devices_has_none(self, host: FakeHost) -> None:
        assert not EFA.is_present(host)


class TestLustre:
    def test_bytes_and_operations_by_file_system(self, host: FakeHost) -> None:
        host.prints("lctl", sample("lctl.txt"))
        assert found(LUSTRE, host) == {
            "slurmpod_lustre_bytes_total{file_system=abcdefgh,kind=read}": 5033164800,
            "slurmpod_lustre_bytes_total{file_system=abcdefgh,kind=write}": 1258291200,
            "slurmpod_lustre_operations_total{file_system=abcdefgh,kind=open}": 42,
            "slurmpod_lustre_operations_total{file_system=abcdefgh,kind=close}": 42,
            "slurmpod_lustre_operations_total{file_system=abcdefgh,kind=getattr}": 17,
        }

    def test_is_looked_at_where_it_is_mounted(self, host: FakeHost) -> None:
        host.prints("lctl", "")
        host.files["/proc/self/mounts"] = "/dev/root / ext4 rw 0 0\n"
        assert not LUSTRE.is_present(host)
        host.files["/proc/self/mounts"] += "10.0.1.5@tcp:/abcdefgh /fsx lustre rw 0 0\n"
        assert LUSTRE.is_present(host)

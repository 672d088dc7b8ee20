import { GpuReading } from "#shared/protocol/schema/pull.ts";

/** A driver in trouble has been seen to block nvidia-smi for minutes. */
const READ_MS = 4_000;
const QUERY = "index,name,utilization.gpu,memory.used,memory.total";

/** `[N/A]` and the like, which many virtual GPUs answer, become null. */
const numberOrNull = (text: string | undefined): number | null => {
  const value = Number.parseFloat(text ?? "");
  return Number.isFinite(value) ? value : null;
};

/** Lines of `nvidia-smi --format=csv,noheader,nounits`; lines that describe no GPU are left out. */
export function parseGpus(csv: string): GpuReading[] {
  return csv.split("\n").flatMap((line) => {
    const [index, name, util, used, total] = line.split(",").map((part) => part.trim());
    const reading = GpuReading.safeParse({
      index: Number.parseInt(index ?? "", 10),
      name: name ?? "",
      util_percent: numberOrNull(util),
      mem_used_mb: numberOrNull(used),
      mem_total_mb: numberOrNull(total),
    });
    return reading.success ? [reading.data] : [];
  });
}

/** The GPUs of this machine (rules/pipeline-views#gpu-metrics); none where nvidia-smi is not installed or does not answer. */
export async function readGpus(path: string | undefined): Promise<GpuReading[]> {
  const program = Bun.which("nvidia-smi", { PATH: path ?? "" });
  if (program === null) return [];
  const child = Bun.spawn([program, `--query-gpu=${QUERY}`, "--format=csv,noheader,nounits"], {
    env: { PATH: path, LC_ALL: "C" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
    timeout: READ_MS,
    killSignal: "SIGKILL",
  });
  const text = await new Response(child.stdout).text();
  return (await child.exited) === 0 ? parseGpus(text) : [];
}

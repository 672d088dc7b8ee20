import { systemClock } from "#shared/kit/clock.ts";
import { createHttpSink } from "#worker/upload/http-sink.ts";
import { assetMeta } from "./asset-meta.ts";

/**
 * Uploads one spool file in a process of its own and prints its peak memory: `base path size sha256` → `{grown_kb, failed}`.
 */
const [base = "", path = "", size = "0", sha256 = ""] = process.argv.slice(2);
const peakKb = async () =>
  Number(/VmHWM:\s+(\d+)/.exec(await Bun.file("/proc/self/status").text())?.[1]);

const before = await peakKb();
const sink = createHttpSink({
  base_url: Promise.resolve(base),
  worker_id: "w1",
  job_id: "j1",
  lease_token: 1,
  upload_token: "token",
  story: { log: () => {} },
  clock: systemClock,
  random: Math.random,
});
sink.putAsset(assetMeta("big.bin"), { path, size: Number(size), sha256 });
const { failed } = await sink.flush(AbortSignal.timeout(170_000));
console.log(JSON.stringify({ grown_kb: (await peakKb()) - before, failed }));

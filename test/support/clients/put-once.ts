import { loadHubConfig } from "#hub/platform/config.ts";
import { openObjects } from "#hub/platform/stores/open-objects.ts";
import { silentLog } from "#shared/kit/log.ts";

/** Puts one body of `megabytes` into the store of the environment, reads it back, prints how far memory grew, in MB. */
const megabytes = Number(process.argv[2]);
const { objects_url, object_keys: keys } = loadHubConfig(process.env);
const store = await openObjects(objects_url, { log: silentLog, keys });
const memoryMb = async (field: string) => {
  const status = await Bun.file("/proc/self/status").text();
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
};

// What the first requests need forever is not what a body takes.
await store.put("warm", new Uint8Array(1024));
const before = await memoryMb("VmRSS");
let left = megabytes * 4;
// One for all, so that what is measured is the store's: a chunk is copied before the next is asked for.
const chunk = new Uint8Array(256 * 1024);
const body = new ReadableStream<Uint8Array>(
  {
    pull: (controller) => {
      if (left <= 0) return controller.close();
      left -= 1;
      controller.enqueue(chunk.fill(left % 251));
    },
  },
  { highWaterMark: 0 },
);
const { size } = await store.put("big", body);
const put = (await memoryMb("VmHWM")) - before;
let read = 0;
for await (const piece of (await store.read("big")) ?? []) read += piece.byteLength;
const both = (await memoryMb("VmHWM")) - before;
await store.deletePrefix("big");
await store.delete("big");
await store.close();
console.log(JSON.stringify({ size, read, put: Math.round(put), both: Math.round(both) }));

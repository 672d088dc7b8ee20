import { openObjects } from "#hub/platform/stores/open-objects.ts";
import { silentLog } from "#shared/kit/log.ts";

/** Replaces one object again and again, each version whole and told apart by its byte, until it is killed. */
const [dir = "", key = "", size = "0"] = process.argv.slice(2);
const store = await openObjects(`file:${dir}`, { log: silentLog });
for (let version = 1; ; version += 1) {
  const chunk = new Uint8Array(64 * 1024).fill(version % 256);
  let left = Number(size);
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        if (left <= 0) return controller.close();
        controller.enqueue(chunk.slice(0, Math.min(left, chunk.length)));
        left -= chunk.length;
      },
    },
    { highWaterMark: 0 },
  );
  await store.put(key, body);
  console.log(version);
}

import { openDb } from "#hub/platform/db/db.ts";
import { silentLog } from "#shared/kit/log.ts";

/** A hub's database in a process of its own: prints `open` or the error, and holds it until stdin ends. */
const [url = "", lock_wait_ms = "0"] = process.argv.slice(2);
try {
  const db = await openDb(url, {
    log: silentLog,
    as_hub: true,
    lock_wait_ms: Number(lock_wait_ms),
  });
  console.log("open");
  for await (const _ of process.stdin);
  await db.close();
} catch (err) {
  console.log(String(err));
  process.exit(1);
}

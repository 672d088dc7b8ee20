import { expect, test } from "bun:test";
import { runCli } from "#test/support/rigs/cli.ts";

test("a line that is committed after its neighbours is followed, too, and none twice (rules/clients#logs-by-command)", async () => {
  /** What is there at each look; 3 and 5 come late. */
  const looks = [[1, 2], [1, 2, 4], [1, 2, 3, 4, 6], [1, 2, 3, 4, 5, 6], [7]];
  let look = 0;
  const hub = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const after = Number(new URL(url).searchParams.get("after") ?? 0);
      const ids = (looks[look] ?? [7]).filter((id) => id > after).toReversed();
      look += 1;
      const logs = ids.map((log_id) => ({
        log_id,
        ts: "2026-01-31T12:00:00.000Z",
        level: "info",
        service: "hub",
        host: "h",
        message: `line ${log_id}`,
        fields: {},
      }));
      return Response.json({ logs, next_cursor: null });
    },
  });
  try {
    const { code, out } = await runCli(hub.url.href, ["logs", "-f"], {
      watch: (seen, interrupt) => void (seen.out.includes("line 7") && interrupt()),
    });
    expect(code).toBe(130);
    expect(out.match(/line \d/g)?.map((line) => Number(line.slice(5)))).toEqual([
      1, 2, 4, 3, 6, 5, 7,
    ]);
  } finally {
    await hub.stop(true);
  }
});

import { expect, test } from "bun:test";
import { eachDialect } from "#test/support/servers/db.ts";

/** Records of sessions (rules/sessions#past-sessions). */

const row = (session_id: string, created_at = 1) => ({
  session_id,
  kind: "sdk" as const,
  job_id: null,
  worker_id: "w1",
  lane_idx: 0,
  opened_by: "ann",
  headless: false,
  created_at,
  url: "about:blank",
  title: "",
});
const end = (ended_at: number, actions = 0) => ({
  ended_at,
  end_reason: "it was deleted",
  url: "http://site.test/",
  title: "Site",
  actions,
});

eachDialect((open) => {
  test("an open session has no end, and one end alone closes it", async () => {
    const { sessions } = await open();
    await sessions.open(row("s1"));
    expect(await sessions.listEnded(10, null)).toEqual([]);
    const ends = await Promise.all([1, 2, 3].map((at) => sessions.end("s1", end(at, 2))));
    expect(ends.filter(Boolean)).toHaveLength(1);
    const [ended] = await sessions.listEnded(10, null);
    expect(ended).toMatchObject({ session_id: "s1", opened_by: "ann", actions: 2, title: "Site" });
    expect(await sessions.end("unknown", end(1))).toBe(false);
  });

  test("one that another hub takes up is open again, with who opened it and what was counted", async () => {
    const { sessions } = await open();
    await sessions.open(row("s1", 5));
    await sessions.count("s1", 1);
    await sessions.end("s1", end(6, 2));
    await sessions.open({ ...row("s1", 9), kind: "kept", opened_by: null });
    expect(await sessions.listEnded(10, null)).toEqual([]);
    await sessions.end("s1", end(20, 4));
    const [ended] = await sessions.listEnded(10, null);
    expect(ended).toMatchObject({ kind: "kept", opened_by: "ann", created_at: 5, actions: 7 });
  });

  test("pages hold each ended session once, the last to end first, also of one moment", async () => {
    const { sessions } = await open();
    const ids = Array.from({ length: 12 }, (_, i) => `s${String(i).padStart(2, "0")}`);
    for (const [i, id] of ids.entries()) {
      await sessions.open(row(id));
      await sessions.end(id, end(Math.floor(i / 3)));
    }
    await sessions.open(row("still open"));
    const seen: string[] = [];
    for (let last = null; ; ) {
      const page = await sessions.listEnded(5, last);
      seen.push(...page.map(({ session_id }) => session_id));
      const at = page.at(-1);
      if (at === undefined) break;
      last = { ended_at: at.ended_at ?? 0, session_id: at.session_id };
    }
    expect(seen).toEqual(ids.toReversed());
  });

  test("a list is narrowed by a worker and by a part of an address or a title, in any case", async () => {
    const { sessions } = await open();
    const ended = async (id: string, worker_id: string, url: string, title: string) => {
      await sessions.open({ ...row(id), worker_id });
      await sessions.end(id, { ...end(1), url, title });
    };
    await ended("a", "w1", "http://shop.test/100%", "Basket");
    await ended("b", "w2", "http://shop.test/", "The Shop");
    await ended("c", "w2", "http://news.test/", "About a SHOP");
    const found = async (filter: { q?: string; worker_id?: string }) =>
      (await sessions.listEnded(10, null, filter)).map((one) => one.session_id);
    expect(await found({})).toEqual(["c", "b", "a"]);
    expect(await found({ q: "shop" })).toEqual(["c", "b", "a"]);
    expect(await found({ q: "shop", worker_id: "w2" })).toEqual(["c", "b"]);
    expect(await found({ q: "0%" })).toEqual(["a"]);
    expect(await found({ q: "_" })).toEqual([]);
    expect(await found({ worker_id: "w3" })).toEqual([]);
    const later = await sessions.listEnded(10, { ended_at: 1, session_id: "c" }, { q: "SHOP" });
    expect(later.map((one) => one.session_id)).toEqual(["b", "a"]);
  });

  test("what is too old or too many is deleted, the first to end first; open ones stay", async () => {
    const { sessions } = await open();
    for (const [i, id] of ["a", "b", "c", "d"].entries()) {
      await sessions.open(row(id));
      await sessions.end(id, end(10 + i));
    }
    await sessions.open(row("open", 3));
    expect(await sessions.endOfNth(4)).toBeNull();
    expect(await sessions.endOfNth(1)).toBe(12);
    expect(await sessions.deleteEnded(12, 2)).toBe(2);
    expect(await sessions.deleteEnded(12, 2)).toBe(1);
    expect((await sessions.listEnded(10, null)).map((one) => one.session_id)).toEqual(["d"]);
    expect((await sessions.openBefore(4, 10)).map((one) => one.session_id)).toEqual(["open"]);
    expect(await sessions.openBefore(3, 10)).toEqual([]);
  });
});

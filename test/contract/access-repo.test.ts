import { describe, expect, test } from "bun:test";
import type { AccessTokenRow } from "#hub/platform/db/rows.ts";
import { eachDialect } from "#test/support/servers/db.ts";

const token = (token_id: string, more: Partial<AccessTokenRow> = {}): AccessTokenRow => ({
  token_id,
  name: token_id,
  role: "admin",
  hash: `hash of ${token_id}`,
  created_at: 1,
  expires_at: null,
  last_used_at: null,
  ...more,
});

eachDialect((open) => {
  describe("tokens", () => {
    test("of the last two admins that are removed at the same time, one stays (rules/access#the-first-token)", async () => {
      const db = await open();
      await db.access.addToken(token("viewer", { role: "viewer" }));
      for (let round = 0; round < 20; round++) {
        const ids = [`a${round}`, `b${round}`];
        for (const id of ids) await db.access.addToken(token(id));
        const outcomes = await Promise.all(ids.map((id) => db.access.removeToken(id, true)));
        expect(outcomes.toSorted()).toEqual(["needed", "removed"]);
        const left = ids.find((_, i) => outcomes[i] === "needed") ?? "";
        expect(await db.access.removeToken(left, false)).toBe("removed");
      }
    });

    test("an admin that expires does not stand in for the last one, and the very last token may go", async () => {
      const db = await open();
      await db.access.addToken(token("forever"));
      await db.access.addToken(token("for a day", { expires_at: 86_400_000 }));
      expect(await db.access.removeToken("forever", true)).toBe("needed");
      expect(await db.access.removeToken("unknown", true)).toBe("not found");
      expect(await db.access.removeToken("for a day", true)).toBe("removed");
      expect(await db.access.removeToken("forever", true)).toBe("removed");
      expect(await db.access.hasTokens()).toBe(false);
    });

    test("a token that stays keeps the browsers that were let in with it; one that is removed takes them along", async () => {
      const db = await open();
      for (const id of ["forever", "other"])
        await db.access.addToken(token(id, { role: id === "forever" ? "admin" : "viewer" }));
      for (const token_id of ["forever", "other"])
        await db.access.addSession({
          hash: `session of ${token_id}`,
          kind: "token",
          token_id,
          proof: null,
          created_at: 1,
          expires_at: 1_000,
        });
      expect(await db.access.removeToken("forever", true)).toBe("needed");
      expect(await db.access.findSession("session of forever")).not.toBeNull();
      expect(await db.access.removeToken("other", true)).toBe("removed");
      expect(await db.access.findSession("session of other")).toBeNull();
    });
  });
});

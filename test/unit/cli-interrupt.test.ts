import { expect, test } from "bun:test";
import { readsUntil } from "#hub/program/cli/hub-client.ts";
import { createHttp } from "#shared/client/http.ts";

/** What Ctrl-C does to a call that runs (rules/clients#errors-of-commands). */

/** A hub that answers when it is told to, and the calls that it got. */
function heldHub() {
  const answer = Promise.withResolvers<void>();
  const asked: string[] = [];
  const http = createHttp({
    base_url: "http://hub.test",
    fetch: async (url, init) => {
      asked.push(new URL(String(url)).pathname);
      const { promise: cut, reject } = Promise.withResolvers<never>();
      init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
      await Promise.race([answer.promise, cut]);
      return Response.json({ session_id: "s" });
    },
  });
  return { http, asked, answer: () => answer.resolve() };
}

test("Ctrl-C ends a read at once, and an action that is given its signal", async () => {
  const { http } = heldHub();
  const ctrl_c = new AbortController();
  const client = readsUntil(ctrl_c.signal, http);
  const read = client.call("GET /health");
  const action = client.call("POST /sessions/{sid}/reload", {
    params: { sid: "s" },
    json: {},
    signal: ctrl_c.signal,
  });
  ctrl_c.abort();
  const cut = { status: "rejected", reason: { status: 0 } };
  expect(await Promise.allSettled([read, action])).toMatchObject([cut, cut]);
});

test("a session that is being opened is answered all the same, so that it can be ended", async () => {
  const { http, asked, answer } = heldHub();
  const ctrl_c = new AbortController();
  const client = readsUntil(ctrl_c.signal, http);
  const opening = client.call("POST /sessions", { json: {}, signal: ctrl_c.signal });
  ctrl_c.abort();
  answer();
  expect((await opening).session_id).toBe("s");
  expect(asked).toEqual(["/sessions"]);
});

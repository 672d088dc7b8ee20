import { expect, test } from "bun:test";
import { silentLog } from "#shared/kit/log.ts";
import type { DialogPolicy } from "#shared/protocol/schema/dialog.ts";
import { createFakeClock } from "#test/support/fakes/fake-clock.ts";
import { CdpConnection } from "#worker/browser/cdp/connection.ts";
import type { CdpTransport } from "#worker/browser/cdp/transport.ts";
import { createDialogs } from "#worker/browser/session/dialogs.ts";

/** One page whose browser the test plays: it closes each dialog as it is told to. */
function rig(policy: DialogPolicy = "wait") {
  const clock = createFakeClock();
  const answers: { accept: boolean; promptText?: string }[] = [];
  const closed: string[] = [];
  const told: (string | null)[] = [];
  let steered = false;
  let changed = () => {};
  const tell = (method: string, params: object, sessionId?: string) =>
    transport.onMessage(JSON.stringify({ method, params, sessionId }));
  const transport: CdpTransport = {
    onMessage: () => {},
    onClose: () => {},
    send: (text) => {
      const { id, method, params } = JSON.parse(text);
      if (method !== "Page.handleJavaScriptDialog") return;
      answers.push(params);
      tell("Page.javascriptDialogClosed", { result: params.accept }, "s");
      transport.onMessage(JSON.stringify({ id, result: {}, sessionId: "s" }));
    },
    close: () => {},
  };
  const connection = new CdpConnection(transport);
  const dialogs = createDialogs({
    clock,
    clients: {
      steers: () => steered,
      onChange: (listener) => {
        changed = listener;
      },
    },
    policy: () => policy,
    onDialog: (_dialog, answer) => told.push(answer?.by ?? null),
    log: silentLog,
  });
  tell("Target.attachedToTarget", { sessionId: "s", targetInfo: { targetId: "t", type: "page" } });
  const page = connection.session("s");
  if (!page) throw new Error("not attached");
  dialogs.follow(page, "t", {
    closed: ({ type }, { accepted, by_policy }) =>
      closed.push(`${type} ${accepted ? "accepted" : "dismissed"}${by_policy ? " at once" : ""}`),
  });
  return {
    clock,
    dialogs,
    answers,
    closed,
    told,
    /** Somebody answers in the browser itself. */
    close: () => tell("Page.javascriptDialogClosed", { result: true }, "s"),
    ask: (type: string, defaultPrompt = "") =>
      tell("Page.javascriptDialogOpening", { type, message: "?", url: "", defaultPrompt }, "s"),
    steer: (by_client: boolean) => {
      steered = by_client;
      changed();
    },
  };
}

test("a dialog that nobody answers is dismissed after 60 s, and not before", async () => {
  const { clock, dialogs, ask, closed } = rig();
  ask("confirm");
  await clock.advance(59_999);
  expect(dialogs.waiting("t")).toMatchObject({ type: "confirm", dialog_id: "1" });
  await clock.advance(1);
  expect(dialogs.list()).toEqual([]);
  expect(closed).toEqual(["confirm dismissed"]);
  expect(clock.sleepers()).toEqual([]);
});

test.each([
  ["dismiss", ["alert dismissed at once", "prompt dismissed at once"]],
  ["accept", ["alert accepted at once", "prompt accepted at once"]],
] as const)("the policy %s answers at once, and lets every page be left", (policy, expected) => {
  const { ask, closed, answers } = rig(policy);
  ask("alert");
  ask("prompt", "as it was");
  ask("beforeunload");
  expect(closed).toEqual([...expected, "beforeunload accepted at once"]);
  expect(answers[1]).toMatchObject({ promptText: "as it was" });
});

test("while a client steers nobody else answers; when it leaves, the time of a dialog begins", async () => {
  const { clock, dialogs, ask, steer, answers } = rig();
  steer(true);
  ask("alert");
  await clock.advance(3_600_000);
  expect(answers).toEqual([]);
  expect(dialogs.list()).toMatchObject([{ closes_at: null }]);
  expect(dialogs.waiting("t")).toBeNull();
  steer(false);
  expect(dialogs.waiting("t")).toMatchObject({ closes_at: clock.now() + 60_000 });
  await clock.advance(60_000);
  expect(answers).toMatchObject([{ accept: false }]);
});

test("a client that comes later does not take a dialog over that it has not heard of", async () => {
  const { clock, ask, steer, answers } = rig();
  ask("alert");
  steer(true);
  await clock.advance(60_000);
  expect(answers).toMatchObject([{ accept: false }]);
});

test("during an action a page may be left; in one call of many steps nothing waits for a person", async () => {
  const { dialogs, ask, closed } = rig();
  ask("beforeunload");
  expect(dialogs.waiting("t")).not.toBeNull();
  await dialogs.dismissAll();
  await dialogs.during("acting", async () => {
    ask("beforeunload");
    ask("confirm");
  });
  expect(dialogs.waiting("t")).toMatchObject({ type: "confirm" });
  await dialogs.dismissAll();
  await dialogs.during("alone", async () => {
    ask("beforeunload");
    ask("confirm");
  });
  expect(closed).toEqual([
    "beforeunload dismissed",
    "beforeunload accepted at once",
    "confirm dismissed",
    "beforeunload accepted at once",
    "confirm dismissed at once",
  ]);
});

test("who answered a dialog is told with its answer (rules/recordings#the-events)", async () => {
  const { clock, dialogs, ask, told, close, steer } = rig();
  ask("alert");
  await dialogs.answer(dialogs.list()[0] as never, true);
  ask("alert");
  close();
  ask("alert");
  await clock.advance(60_000);
  steer(true);
  ask("alert");
  close();
  expect(told.filter((by) => by !== null)).toEqual([
    ...["the API", "a person", "nobody: its time was over", "a CDP client"],
  ]);
  expect(told.filter((by) => by === null)).toHaveLength(4);
  const ruled = rig("accept");
  ruled.ask("alert");
  expect(ruled.told).toEqual([null, "the dialog policy"]);
});

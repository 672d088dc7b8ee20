import { expect } from "bun:test";
import type { HubSession } from "#hub/fleet/sessions/hub-session.ts";
import { PASSWORD, TOKEN, USER } from "../clients/link-calls.ts";
import { startFakeScreen } from "../fakes/fake-screen.ts";
import { openSessionAt } from "../fakes/live-session.ts";
import { startTestHub, TARGET } from "./hub.ts";

export type LinkHubs = Awaited<ReturnType<typeof startLinkHubs>>;

/** A hub with sessions, whose bridge is a fake, and one with jobs; both ask for a token. */
export async function startLinkHubs() {
  const env = { SVC_API_TOKEN: TOKEN, SVC_ADMIN_PASSWORD: PASSWORD };
  const hub = await startTestHub({ alone: true, env });
  const screen = await startFakeScreen();
  /** Has no sessions, so that its one worker gets every job. */
  const store = await startTestHub({ alone: true, env });
  const worker = await store.worker({ lanes: 20 });
  const make = (body: object, headers: Record<string, string> = USER, at = hub) =>
    at.call("POST", "/links", body, { headers });
  return {
    hub,
    store,
    screen,
    make,
    pathTo: async (body: object, at = hub): Promise<string> => {
      const { status, body: made } = await make(body, USER, at);
      expect({ status, made }).toMatchObject({ status: 201 });
      const { pathname, search } = new URL(made.url);
      return pathname + search;
    },
    get: (path: string, at = hub) => at.call("GET", path),
    openSession: () => openSessionAt(hub, screen.port),
    jobWithAssets: async (...names: string[]): Promise<string> => {
      const { body } = await store.call("POST", "/jobs", { url: TARGET }, { headers: USER });
      const job = await worker.assigned.next(({ job_id }) => job_id === body.job_id);
      for (const name of names) await worker.putAsset(job, `body of ${name}`, { name });
      return job.job_id;
    },
    /** The next stream that the bridge is asked for on behalf of this session. */
    streamAt: (session: HubSession) =>
      screen.streams.next(({ path }) => path.includes(session.session_id)),
    close: async () => {
      screen.stop();
      await hub.close();
      await store.close();
    },
  };
}

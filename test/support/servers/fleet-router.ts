import { startHaproxy, type TestRouter } from "./router.ts";

/**
 * The router before the hubs of a test. One lives as long as the test process and serves one set of hubs after another,
 * because starting HAProxy takes longer than starting a hub; a test with several sets at once gets others of its own.
 */

/** Nobody listens there. */
const NO_HUBS = ["127.0.0.1:1"];

interface KeptRouter {
  router: TestRouter;
  taken: boolean;
}
/** Bun gives every test file modules of its own, so what the process keeps lies outside of them (test/setup.ts). */
const kept = globalThis as { flotillaRouter?: KeptRouter };

/** Starts the one that is kept. */
export async function startKeptRouter(): Promise<TestRouter> {
  const router = await startHaproxy(NO_HUBS, { checks: false });
  kept.flotillaRouter = { router, taken: false };
  return router;
}

/** A router before these hubs; `stop` gives it back. */
export async function takeRouter(hubs: readonly string[]): Promise<TestRouter> {
  const idle = kept.flotillaRouter;
  if (!idle || idle.taken) return startHaproxy(hubs, { checks: false });
  idle.taken = true;
  const { router } = idle;
  let given_back = false;
  const giveBack = async () => {
    if (given_back) return;
    given_back = true;
    await router.setHubs(NO_HUBS);
    idle.taken = false;
  };
  try {
    await router.setHubs(hubs);
  } catch (err) {
    idle.taken = false;
    throw err;
  }
  return { ...router, stop: giveBack };
}

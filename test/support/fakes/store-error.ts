import { openStore } from "#worker/tasks/flotilla-store.ts";

/** What a task is thrown when its plugin's store answers with this status. */
export async function storeError(status: number): Promise<Error> {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => Response.json({ detail: "the control plane cannot be reached" }, { status }),
  });
  try {
    await openStore(server.url.href).state.get("any");
  } catch (err) {
    return err as Error;
  } finally {
    await server.stop(true);
  }
  throw new Error(`a store that answers ${status} threw nothing`);
}

import type Client from "better-sqlite3";

/**
 * The repositories' writes within one turn of the event loop are one transaction, and none of their calls returns
 * before it is committed. A separate commit would cost every small write three times its own time.
 */
export interface CommitGroup {
  /** A statement that writes joins the group when it runs. */
  join<T extends Client.Statement<unknown[]>>(statement: T): T;
  /** Runs `work`, which decides without awaiting, as a member of the group. */
  within<T>(work: () => T): T;
  /** Runs a call of a repository; resolves when everything that it has written and seen is committed. */
  call<T>(work: () => Promise<T>): Promise<T>;
  /** Commits what is open. */
  flush(): void;
}

interface Group {
  readonly no: number;
  readonly ended: Promise<void>;
  end(): void;
}

export function createCommitGroup(client: Client.Database): CommitGroup {
  const begin = client.prepare("begin immediate");
  const commit = client.prepare("commit");
  const rollback = client.prepare("rollback");
  let open: Group | null = null;
  let last = 0;
  /** The newest group that could not be committed, and why. */
  let failed: { no: number; err: unknown } = { no: 0, err: null };

  const close = (err: unknown): void => {
    if (!open) return;
    if (err !== null) failed = { no: open.no, err };
    open.end();
    open = null;
  };
  const flush = (): void => {
    if (!open) return;
    try {
      commit.run();
      close(null);
    } catch (err) {
      if (client.inTransaction) rollback.run();
      close(err);
    }
  };
  const start = (): void => {
    // Another part's transaction, such as the queue's, commits by itself.
    if (open || client.inTransaction) return;
    begin.run();
    last += 1;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const mine = { no: last, ended, end };
    open = mine;
    // Runs after everything that this turn has read from its sockets was handled.
    setImmediate(() => {
      if (open === mine) flush();
    });
  };
  const within = <T>(work: () => T): T => {
    start();
    try {
      return work();
    } catch (err) {
      // A full disk ends the whole transaction; a violated constraint ends one statement.
      if (open && !client.inTransaction) close(err);
      throw err;
    }
  };
  return {
    within,
    flush,
    join: (statement) => {
      if (statement.readonly) return statement;
      for (const name of ["run", "all", "get"] as const) {
        const plain = statement[name].bind(statement) as (...params: unknown[]) => unknown;
        const value = (...params: unknown[]) => within(() => plain(...params));
        Object.defineProperty(statement, name, { value });
      }
      return statement;
    },
    call: async (work) => {
      const first = open?.no ?? last + 1;
      const result = await work();
      await open?.ended;
      if (failed.no >= first) throw failed.err;
      return result;
    },
  };
}

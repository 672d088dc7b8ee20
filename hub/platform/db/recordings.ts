import { and, asc, count, desc, eq, inArray, isNotNull, lt, lte, sql } from "drizzle-orm";
import { behindRow } from "./behind-row.ts";
import type { Conn } from "./conn.ts";
import type { RecordingRow } from "./rows.ts";

/** Which recordings `oldestEnded` gives. */
interface EndedRecordings {
  ended_before?: number | undefined;
  /** Only those that come behind it. */
  after?: Pick<RecordingRow, "run_id" | "ended_at"> | undefined;
  limit: number;
}

/** What lists show of a recording. */
type RecordingSummary = Pick<
  RecordingRow,
  "session_id" | "job_id" | "state" | "mode" | "sealed" | "body_bytes" | "has_screen"
>;

/** Recordings of runs, without their bytes (rules/recordings#storage). */
export interface RecordingsRepo {
  /** The recording begins, unless it has begun before. @returns the row as it is now */
  begin(row: RecordingRow): Promise<RecordingRow>;
  get(run_id: string): Promise<RecordingRow | null>;
  /** The last to begin first. */
  ofJob(job_id: string): Promise<RecordingRow[]>;
  ofSession(session_id: string): Promise<RecordingRow[]>;
  /** Of several sessions, without their contents, the first to begin first. */
  ofSessions(session_ids: readonly string[]): Promise<RecordingSummary[]>;
  /**
   * Adds a sealed part, and the end if it was the last: only after exactly `from` sealed bytes, and only while it is live.
   * @returns null when another hub was first, or the recording has ended or is gone.
   */
  seal(run_id: string, from: number, now: Partial<RecordingRow>): Promise<RecordingRow | null>;
  /** Makes room for a body beside the recording; false when it has no room for so much, or is gone. Negative: gives it back. */
  reserveBody(run_id: string, bytes: number, most: number): Promise<boolean>;
  /** There is no picture of its screen after all. */
  setScreenless(run_id: string): Promise<void>;
  /** Ends a live recording with what is sealed of it; false when it was not live. */
  end(run_id: string, state: "whole" | "cut", ended_at: number): Promise<boolean>;
  /** Live ones, the first to begin first. */
  listLive(started_before: number, limit: number): Promise<RecordingRow[]>;
  oldestEnded(which: EndedRecordings): Promise<RecordingRow[]>;
  /** Bytes of all sealed parts, and of all bodies beside them. */
  totalBytes(): Promise<number>;
  /** How many have ended. */
  endedCount(): Promise<number>;
  delete(run_id: string): Promise<void>;
}

export function recordingsRepo({ q, t: { recordings } }: Conn): RecordingsRepo {
  const { run_id, job_id, session_id, state, mode, started_at, ended_at } = recordings;
  const { sealed, body_bytes, has_screen } = recordings;
  const get = async (id: string) => {
    const [row] = await q.select().from(recordings).where(eq(run_id, id));
    return row ?? null;
  };
  const isLive = (id: string) => and(eq(run_id, id), eq(state, "live"));
  return {
    get,
    begin: async (row) => {
      const [made] = await q.insert(recordings).values(row).onConflictDoNothing().returning();
      return made ?? (await get(row.run_id)) ?? row;
    },
    ofJob: (id) =>
      q.select().from(recordings).where(eq(job_id, id)).orderBy(desc(started_at), desc(run_id)),
    ofSession: (id) =>
      q.select().from(recordings).where(eq(session_id, id)).orderBy(desc(started_at), desc(run_id)),
    ofSessions: async (ids) =>
      q
        .select({ session_id, job_id, state, mode, sealed, body_bytes, has_screen })
        .from(recordings)
        .where(inArray(session_id, [...ids]))
        .orderBy(asc(started_at), asc(run_id)),
    seal: async (id, from, now) => {
      const [row] = await q
        .update(recordings)
        .set(now)
        .where(and(isLive(id), eq(sealed, from)))
        .returning();
      return row ?? null;
    },
    reserveBody: (id, bytes, most) => reserveBody({ q, recordings }, id, bytes, most),
    setScreenless: async (id) => {
      await q.update(recordings).set({ has_screen: false }).where(eq(run_id, id));
    },
    end: async (id, as, at) => {
      const ended = await q
        .update(recordings)
        .set({ state: as, ended_at: at })
        .where(isLive(id))
        .returning({ run_id });
      return ended.length > 0;
    },
    listLive: (started_before, limit) =>
      q
        .select()
        .from(recordings)
        .where(and(eq(state, "live"), lt(started_at, started_before)))
        .orderBy(asc(started_at))
        .limit(limit),
    oldestEnded: (which) =>
      q
        .select()
        .from(recordings)
        .where(isAmong(recordings, which))
        .orderBy(asc(ended_at), asc(run_id))
        .limit(which.limit),
    totalBytes: () => totalBytes({ q, recordings }),
    endedCount: async () => {
      const [row] = await q.select({ ended: count() }).from(recordings).where(isNotNull(ended_at));
      return row?.ended ?? 0;
    },
    delete: async (id) => {
      await q.delete(recordings).where(inArray(run_id, [id]));
    },
  };
}

function isAmong(
  { ended_at, run_id }: Conn["t"]["recordings"],
  { ended_before, after }: EndedRecordings,
) {
  const old = ended_before === undefined ? undefined : lt(ended_at, ended_before);
  const behind = after && behindRow(ended_at, after.ended_at ?? 0, run_id, after.run_id);
  return and(isNotNull(ended_at), old, behind);
}

type OfRecordings = Pick<Conn, "q"> & { recordings: Conn["t"]["recordings"] };

async function totalBytes({ q, recordings }: OfRecordings): Promise<number> {
  const { sealed, body_bytes } = recordings;
  const [row] = await q
    .select({ bytes: sql<string | number | null>`sum(${sealed} + ${body_bytes})` })
    .from(recordings);
  return Number(row?.bytes ?? 0);
}

async function reserveBody(
  { q, recordings }: OfRecordings,
  id: string,
  bytes: number,
  most: number,
): Promise<boolean> {
  const { run_id, body_bytes } = recordings;
  const now = sql`${body_bytes} + ${bytes}`;
  const reserved = await q
    .update(recordings)
    .set({ body_bytes: now })
    .where(and(eq(run_id, id), lte(now, most)))
    .returning({ run_id });
  return reserved.length > 0;
}

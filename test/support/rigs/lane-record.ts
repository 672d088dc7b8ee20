/** What workers wrote down of their lanes: which job or session ran on which, from when to when, under which lease. */
export interface LaneRecord {
  /** Takes the lines that a worker logs, and null when its process starts anew. */
  follow(worker_id: string): (line: string | null) => void;
  /**
   * What no fleet may do: offer a lane while another job or session has it, give a lane under a lease that is not newer
   * than the one before, or give one thing to two lanes under one lease.
   */
  wrong: string[];
  /** Every run that a worker began. */
  runs: LaneRun[];
}

interface LaneRun {
  worker_id: string;
  lane_idx: number;
  lease_token: number;
  /** Of the job, or of the session that no job owns. */
  id: string;
  /** Epoch ms; the end is null while it goes on, and when its worker died. */
  since: number;
  until: number | null;
  /** What a job's run came to; null for one that was stopped or died. */
  status: string | null;
  /** The hub did not take that result any more. */
  refused: boolean;
}

interface Line {
  ts: string;
  message: string;
  lane_idx?: number;
  lease_token?: number;
  job_id?: string;
  session_id?: string;
  status?: string;
}

function parse(text: string): Line | null {
  try {
    return JSON.parse(text) as Line; // the program's own log; anything else is no JSON
  } catch {
    return null;
  }
}

export function createLaneRecord(): LaneRecord {
  const runs: LaneRun[] = [];
  const wrong: string[] = [];
  const newest = new Map<string, number>();
  const by_token = new Map<number, LaneRun>();

  const begin = (run: LaneRun, before: LaneRun | undefined) => {
    const place = `${run.worker_id}/${run.lane_idx}`;
    if (before) wrong.push(`${place} was given to ${run.id} while ${before.id} had it`);
    const last = newest.get(place) ?? 0;
    if (run.lease_token <= last)
      wrong.push(`${place} was given to ${run.id} under lease ${run.lease_token} after ${last}`);
    newest.set(place, run.lease_token);
    const twin = by_token.get(run.lease_token);
    if (twin) wrong.push(`${place} and ${twin.worker_id}/${twin.lane_idx} have one lease`);
    by_token.set(run.lease_token, run);
    runs.push(run);
  };

  return {
    wrong,
    runs,
    follow: (worker_id) => {
      const held = new Map<number, LaneRun>();
      return (text) => {
        if (text === null) return held.clear();
        const line = parse(text);
        if (!line) return;
        const { message, lane_idx, lease_token = 0 } = line;
        if (message.startsWith("result refused")) {
          const run = by_token.get(lease_token);
          if (run) run.refused = true;
        }
        if (lane_idx === undefined) return;
        const id = line.job_id ?? line.session_id ?? "";
        const at = Date.parse(line.ts);
        const before = held.get(lane_idx);
        if (message === "job accepted" || message === "session accepted") {
          const ended = { until: null, status: null, refused: false };
          const run: LaneRun = { worker_id, lane_idx, lease_token, id, since: at, ...ended };
          begin(run, before);
          held.set(lane_idx, run);
        } else if (message === "job refused" || message === "session refused") {
          if (before)
            wrong.push(`${worker_id}/${lane_idx} was offered to ${id}, ${before.id} had it`);
        } else if (message === "job ended" && before?.id === id)
          before.status = line.status ?? null;
        else if (message === "lane warm" && before) {
          before.until = at;
          held.delete(lane_idx);
        }
      };
    },
  };
}

import type {
  ExportRecordingInput,
  Har,
  Recording,
  RecordingExport,
  VideoFormat,
} from "./client-types.ts";
import type { CallOptions, Http } from "./http.ts";

const TRACE_MS = 60_000;

/** What is kept of a session, also when it has ended (rules/recordings#read-a-recording). */
export function sessionRecordings(http: Http) {
  return {
    /** What is recorded of a session, also of one that has ended. */
    recording: (session_id: string, call?: CallOptions): Promise<Recording> =>
      http.call("GET /sessions/{sid}/recording", { ...call, params: { sid: session_id } }),
    /** What a session requested, as HAR 1.2, also of one that has ended. */
    har: (session_id: string, call?: CallOptions): Promise<Har> =>
      http.call("GET /sessions/{sid}/har.json", { ...call, params: { sid: session_id } }),
    /** A body that a session with `capture` received, streamed; its HAR names it as `content._body`. */
    body: (session_id: string, sha256: string, call?: CallOptions): Promise<Response> =>
      http.open("GET /sessions/{sid}/bodies/{sha256}", {
        ...call,
        params: { sid: session_id, sha256 },
      }),
    /** The Playwright trace of a session that was opened with `trace` and has ended, streamed; 404 until it is there. */
    trace: (session_id: string, call?: CallOptions): Promise<Response> =>
      http.open("GET /sessions/{sid}/trace.zip", {
        timeout_ms: TRACE_MS,
        ...call,
        params: { sid: session_id },
      }),
    /** A small picture of what the recording of a session that has ended shows last: WebP; 404 where there is none. */
    thumbnail: (session_id: string, call?: CallOptions): Promise<Response> =>
      http.open("GET /sessions/{sid}/thumbnail.webp", { ...call, params: { sid: session_id } }),
    /** As `exportRecording`, `recordingExports` and `recordingVideo` of jobs. */
    exportRecording: (
      session_id: string,
      json: ExportRecordingInput,
      call?: CallOptions,
    ): Promise<RecordingExport> =>
      http.call("POST /sessions/{sid}/recording/exports", {
        ...call,
        params: { sid: session_id },
        json,
      }),
    recordingExports: async (
      session_id: string,
      call?: CallOptions,
    ): Promise<RecordingExport[]> => {
      const asked = { ...call, params: { sid: session_id } };
      return (await http.call("GET /sessions/{sid}/recording/exports", asked)).items;
    },
    recordingVideo: (
      session_id: string,
      format: VideoFormat,
      call?: CallOptions,
    ): Promise<Response> =>
      http.open(`GET /sessions/{sid}/recording/video.${format}`, {
        ...call,
        params: { sid: session_id },
      }),
  };
}

import type { RecordingRow } from "#hub/platform/db/rows.ts";
import type { RecordingExport, VideoFormat } from "#shared/recording/record.ts";

/** Makes videos of recordings, one at a time (rules/recordings#export-as-a-video). */
export interface VideoExports {
  /**
   * Begins an export, unless the same one is there or under way. @returns how it stands.
   * @throws AppError conflict where this cannot be, unavailable while too many wait
   */
  ask(
    known: { row: RecordingRow; bytes: number },
    asked: { format: VideoFormat; speed: number },
  ): Promise<RecordingExport>;
  /** Ends what is under way; it is asked for again. */
  stop(): Promise<void>;
}

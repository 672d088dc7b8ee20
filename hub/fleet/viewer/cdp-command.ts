import type { ByteStream } from "#hub/platform/http/byte-stream.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { createFrameReader, encodeFrame, OPCODE } from "#shared/kit/ws-frames.ts";
import { MAX_LINK_FRAME_BYTES } from "#shared/protocol/limits.ts";
import type { FleetContext } from "../context.ts";

const ANSWER_MS = 15_000;

interface CdpAnswer {
  id?: unknown;
  result?: Record<string, unknown>;
  error?: { message?: unknown };
}

/**
 * One command over a connection to the session's browser, which is closed afterwards. The worker judges it like those of
 * any client.
 * @throws AppError invalid with the browser's or the worker's refusal, relay_failed (502) when no answer comes.
 */
export async function askOverCdp(
  { clock }: Pick<FleetContext, "clock">,
  bridge: ByteStream,
  method: string,
  params: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const { promise, resolve, reject } = Promise.withResolvers<CdpAnswer>();
  const over = new AbortController();
  const failed = (why: string) => reject(new AppError("relay_failed", `the browser ${why}`));
  const reader = createFrameReader(MAX_LINK_FRAME_BYTES, ({ opcode, payload }) => {
    if (opcode !== OPCODE.text) return;
    const answer = JSON.parse(payload.toString()) as CdpAnswer;
    if (answer.id === 1) resolve(answer);
  });
  bridge.start({
    data: (chunk) => {
      try {
        reader.push(chunk);
      } catch (err) {
        failed(`answered what is no CDP: ${errorMessage(err)}`);
      }
    },
    close: () => failed("closed the connection"),
  });
  void clock.sleep(ANSWER_MS, over.signal).then(() => failed("did not answer"));
  try {
    const command = Buffer.from(JSON.stringify({ id: 1, method, params }));
    bridge.write(encodeFrame(OPCODE.text, command, true));
    const { result, error } = await promise;
    if (result !== undefined) return result;
    throw new AppError("invalid", String(error?.message ?? "the browser refused it"));
  } finally {
    over.abort();
    bridge.close();
  }
}

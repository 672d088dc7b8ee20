import type { ButtonProps } from "@mantine/core";
import type { Session } from "#shared/protocol/schema/session.ts";
import { call } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";

interface EndSessionProps {
  session: Session;
  size?: ButtonProps["size"];
  onEnded: () => void;
}

export function EndSession({ session: { session_id, job_id }, size, onEnded }: EndSessionProps) {
  const end = useChange(() => call("DELETE /sessions/{sid}", { params: { sid: session_id } }), {
    done: "The session has ended",
    failed: "The session was not ended",
    onDone: onEnded,
  });
  return (
    <ConfirmButton
      size={size}
      color="red"
      variant="light"
      loading={end.isPending}
      question="End this session?"
      text={
        job_id === null
          ? "Its browser is closed, and everything that is not saved as a profile is lost."
          : `Its browser is closed. If job ${job_id} still runs in it, the job is cancelled.`
      }
      onConfirm={() => end.mutate(undefined)}
    >
      End session
    </ConfirmButton>
  );
}

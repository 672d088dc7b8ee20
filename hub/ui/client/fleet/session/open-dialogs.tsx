import { Alert, Button, Group, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Dialog } from "#shared/protocol/schema/dialog.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import { useChange } from "../../lib/query.ts";
import { act } from "./act.ts";

/** What the session's pages ask (guide: start/first-session), to be answered here or in the viewer. */
export function OpenDialogs({ session }: { session: Session }) {
  return session.dialogs.map((dialog) => (
    <OpenDialog key={dialog.dialog_id} session={session} dialog={dialog} />
  ));
}

function OpenDialog({ session, dialog }: { session: Session; dialog: Dialog }) {
  const { dialog_id, type, message, default_prompt, closes_at } = dialog;
  const [text, setText] = useState(default_prompt);
  const answer = useChange(
    (op: "accept" | "dismiss") =>
      act(session, "dialog", {
        op,
        dialog_id,
        ...(op === "accept" && type === "prompt" && { prompt_text: text }),
      }),
    { failed: "The dialog was not answered" },
  );
  const isAnswering = (op: string) => answer.isPending && answer.variables === op;
  return (
    <Alert role="region" aria-label="The page asks" color="yellow" title={TITLES[type]}>
      {message !== "" && (
        <Text size="sm" mb="xs" style={{ overflowWrap: "anywhere", whiteSpace: "pre-wrap" }}>
          {message}
        </Text>
      )}
      <Group gap="xs" align="flex-end">
        {type === "prompt" && (
          <TextInput
            size="xs"
            label="Answer"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        )}
        <Button size="xs" loading={isAnswering("accept")} onClick={() => answer.mutate("accept")}>
          {type === "beforeunload" ? "Leave" : "OK"}
        </Button>
        {type !== "alert" && (
          <Button
            size="xs"
            variant="default"
            loading={isAnswering("dismiss")}
            onClick={() => answer.mutate("dismiss")}
          >
            {type === "beforeunload" ? "Stay" : "Cancel"}
          </Button>
        )}
        <Text size="xs" c="dimmed">
          {closes_at === null
            ? "A program connected to the session is handling it."
            : "It is dismissed when nobody answers."}
        </Text>
      </Group>
    </Alert>
  );
}

const TITLES: Record<Dialog["type"], string> = {
  alert: "The page says",
  confirm: "The page asks",
  prompt: "The page asks for text",
  beforeunload: "The page asks whether you want to leave it",
};

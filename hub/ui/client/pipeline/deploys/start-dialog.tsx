import { Alert, Button, Group, Modal, Stack, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { call } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { FormErrors, issueAt } from "../../parts/form-errors.tsx";

interface StartDialogProps {
  opened: boolean;
  /** Target of the last deploy: most are the same again. */
  last: string;
  onClose: () => void;
  onStarted: (deploy_id: number) => void;
}

/** Runs the configured command; what it can be told are a target and arguments. */
export function StartDialog({ opened, last, onClose, onStarted }: StartDialogProps) {
  const [target, setTarget] = useState<string | null>(null);
  const [args, setArgs] = useState("");
  const named = (target ?? last).trim();
  const start = useChange(
    () =>
      call<{ deploy_id: number }>("POST", "/api/v1/admin/deploy", {
        json: { target: named, args: args.split("\n").filter((arg) => arg !== "") },
      }),
    {
      done: ({ deploy_id }) => `Deploy ${deploy_id} started`,
      failed: "The deploy was not started",
      onDone: ({ deploy_id }) => onStarted(deploy_id),
      quiet: true,
    },
  );
  const close = () => {
    // Opened again it does not say what became of another try.
    start.reset();
    onClose();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (named !== "") start.mutate(undefined);
  };
  return (
    <Modal opened={opened} onClose={close} title="Deploy" closeOnEscape={!start.isPending}>
      <form onSubmit={submit} noValidate>
        <Stack gap="sm">
          <Alert color="yellow">
            This runs the SVC_DEPLOY_ARGV command on the server. It cannot be undone from here.
          </Alert>
          <TextInput
            label="Target"
            required
            data-autofocus
            value={target ?? last}
            onChange={(event) => setTarget(event.currentTarget.value)}
            error={issueAt(start.error, "target")}
          />
          <Textarea
            label="Arguments"
            description="One per line"
            autosize
            minRows={2}
            maxRows={8}
            classNames={{ input: "code-input" }}
            value={args}
            onChange={(event) => setArgs(event.currentTarget.value)}
            error={issueAt(start.error, "args")}
          />
          <FormErrors
            error={start.error}
            title="The deploy was not started"
            fields={["target", "args"]}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Not now
            </Button>
            <Button type="submit" disabled={named === ""} loading={start.isPending}>
              Start the deploy
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

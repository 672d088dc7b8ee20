import { Alert, Button, Group, Modal, Stack, Textarea, TextInput } from "@mantine/core";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { useApiForm } from "../../forms/use-api-form.ts";
import { call } from "../../lib/http.ts";
import { FormErrors } from "../../parts/form-errors.tsx";

const RULES = rulesOf("StartDeploy");

interface StartDialogProps {
  opened: boolean;
  /** Target of the last deploy: most are the same again. */
  last: string;
  onClose: () => void;
  onStarted: (deploy_id: number) => void;
}

/** Runs the configured command; a person can give it a target and arguments. */
export function StartDialog({ opened, last, onClose, onStarted }: StartDialogProps) {
  const named = (target: string | null) => (target ?? last).trim();
  const { form, saving, props } = useApiForm({
    initial: { target: null as string | null, args: "" },
    rules: RULES,
    bodyOf: ({ target, args }) => ({
      target: named(target),
      args: args.split("\n").filter((arg) => arg !== ""),
    }),
    send: (json) => call("POST /api/v1/admin/deploy", { json }),
    done: ({ deploy_id }) => `Deploy ${deploy_id} started`,
    failed: "The deploy was not started",
    onDone: ({ deploy_id }) => onStarted(deploy_id),
  });
  const close = () => {
    // Opened again it does not say what became of another try.
    saving.reset();
    form.clearErrors();
    onClose();
  };
  return (
    <Modal opened={opened} onClose={close} title="Deploy" closeOnEscape={!saving.isPending}>
      <form {...props}>
        <Stack gap="sm">
          <Alert color="yellow">
            This runs the SVC_DEPLOY_ARGV command on the server. It cannot be undone from here.
          </Alert>
          <TextInput
            label="Target"
            required
            data-autofocus
            {...form.getInputProps("target")}
            value={form.values.target ?? last}
          />
          <Textarea
            label="Arguments"
            description="One per line"
            autosize
            minRows={2}
            maxRows={8}
            classNames={{ input: "code-input" }}
            {...form.getInputProps("args")}
          />
          <FormErrors
            error={saving.error}
            title="The deploy was not started"
            fields={["target", "args"]}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Not now
            </Button>
            <Button
              type="submit"
              disabled={named(form.values.target) === ""}
              loading={saving.isPending}
            >
              Start the deploy
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

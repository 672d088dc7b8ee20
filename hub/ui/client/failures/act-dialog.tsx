import { Button, Group, Loader, Modal, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useChange } from "../lib/query.ts";
import { ErrorNote } from "../parts/states.tsx";
import { type Act, type Action, doneText, manyText, untilDone, WORDS } from "./acting.ts";
import { previewOf } from "./preview.ts";

interface ActDialogProps {
  /** Null while it is closed. */
  action: Action | null;
  what: "task" | "capture";
  /** Names what is acted on, for what was read before. */
  name: readonly unknown[];
  act: Act;
  /** Workloads to move to. */
  targets?: string[];
  onClose: () => void;
}

/** Says how many it will be, and does it. */
export function ActDialog({ action, what, name, act, targets = [], onClose }: ActDialogProps) {
  const [to, setTo] = useState<string>();
  const preview = useQuery(previewOf(name, act, action, action === "move" ? to : undefined));
  const { verb, follows } = WORDS[action ?? "retry"];
  // What cannot be undone is done to as many as the dialog names; of a retry also those that came since are meant.
  const at_most = action === "retry" || !preview.data?.complete ? undefined : preview.data.matched;
  const doIt = useChange(
    (chosen: Action) =>
      untilDone(
        (most) =>
          act(chosen, {
            dry_run: false,
            ...(chosen === "move" && to ? { to } : {}),
            ...(most === undefined ? {} : { at_most: most }),
          }),
        at_most,
      ),
    {
      done: (made, chosen) => doneText(chosen, what, made),
      failed: "Not all of them were changed",
      onDone: onClose,
    },
  );
  const n = preview.data?.matched ?? 0;
  const many = `${preview.data?.complete === false ? "at least " : ""}${manyText(n, what)}`;
  return (
    <Modal opened={action !== null} onClose={onClose} title={`${verb} ${what}s`} centered>
      <Stack>
        {action === "move" && (
          <Select
            label="To the queue of"
            placeholder="Choose a workload"
            searchable
            data={targets}
            value={to ?? null}
            onChange={(slug) => setTo(slug ?? undefined)}
          />
        )}
        {preview.error ? (
          <ErrorNote error={preview.error} title="They could not be counted" />
        ) : null}
        {preview.isFetching ? (
          <Loader size="sm" aria-label="Counting" />
        ) : (
          preview.data && (
            <Text size="sm">
              {n === 0
                ? `There is no ${what} to ${verb.toLowerCase()}.`
                : `This is for ${many}. ${follows}`}
            </Text>
          )
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            No, go back
          </Button>
          <Button
            color={action === "delete" || action === "cancel" ? "red" : undefined}
            disabled={n === 0 || preview.isFetching}
            loading={doIt.isPending}
            onClick={() => action && doIt.mutate(action)}
          >
            {n === 0 ? verb : `${verb} ${many}`}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

import { Button, Group, Modal, Stack, Switch, Text } from "@mantine/core";
import { useState } from "react";
import { useLocation } from "wouter";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { call } from "../../lib/http.ts";
import { tellError, useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";

/** The two switches of a workload. */
export function Switches({ workload }: { workload: Workload }) {
  const enable = useChange(
    (enabled: boolean) =>
      call("PATCH /api/v1/workloads/{slug}/enabled", {
        params: { slug: workload.slug },
        json: { enabled },
      }),
    { failed: "The workload was not switched" },
  );
  const supervise = useChange(
    (supervisor_enabled: boolean) =>
      call("PATCH /api/v1/workloads/{slug}/supervisor_enabled", {
        params: { slug: workload.slug },
        json: { supervisor_enabled },
      }),
    { failed: "The supervisor was not switched" },
  );
  return (
    <Group gap="md">
      <Switch
        label="Enabled"
        checked={enable.isPending ? enable.variables : workload.enabled}
        disabled={enable.isPending}
        onChange={(event) => enable.mutate(event.currentTarget.checked)}
      />
      <Switch
        label="Supervised"
        checked={supervise.isPending ? supervise.variables : workload.supervisor_enabled}
        disabled={supervise.isPending}
        onChange={(event) => supervise.mutate(event.currentTarget.checked)}
      />
    </Group>
  );
}

/** Deletes the workload; while tasks are claimed it asks whether to do it all the same. */
export function DeleteWorkload({ slug }: { slug: string }) {
  const [, navigate] = useLocation();
  const [claimed, setClaimed] = useState("");
  const remove = useChange(
    (force: boolean) =>
      call("DELETE /api/v1/workloads/{slug}", { params: { slug }, query: force ? { force } : {} }),
    {
      done: `Workload ${slug} was deleted`,
      failed: "The workload was not deleted",
      quiet: true,
      onDone: () => navigate("/ui/pipelines"),
    },
  );
  const go = (force: boolean) =>
    remove.mutate(force, {
      onError: (err) => {
        if (err instanceof FlotillaError && err.status === 409) setClaimed(err.message);
        else tellError("The workload was not deleted", err);
      },
    });
  return (
    <>
      <ConfirmButton
        question={`Delete the workload ${slug}?`}
        text="Its queue is deleted too, with every task that waits or has failed. Its runs stay."
        confirm="Delete the workload"
        loading={remove.isPending}
        onConfirm={() => go(false)}
      >
        Delete
      </ConfirmButton>
      <Modal
        opened={claimed !== ""}
        onClose={() => setClaimed("")}
        title="Tasks are running"
        centered
      >
        <Stack>
          <Text size="sm" className="wrap">
            The workload was not deleted: {claimed}. Wait until they end, or delete it anyway: what
            their workers then report is discarded.
          </Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setClaimed("")}>
              No, go back
            </Button>
            <Button
              color="red"
              onClick={() => {
                setClaimed("");
                go(true);
              }}
            >
              Delete anyway
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}

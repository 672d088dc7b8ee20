import { Alert, Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import type { FleetUpdates } from "#shared/protocol/schema/updates.ts";
import { call } from "../../lib/http.ts";
import { errorText, useChange } from "../../lib/query.ts";

interface PinDialogProps {
  updates: FleetUpdates;
  opened: boolean;
  onClose: () => void;
}

/** Pins the fleet, or one worker, to a version, and removes the pin. */
export function PinDialog({ updates, opened, onClose }: PinDialogProps) {
  const [version, setVersion] = useState("");
  const [worker, setWorker] = useState("");
  const pin = useChange(
    (to: string | null) =>
      call("POST /api/v1/updates/pin", {
        json: { version: to, ...(worker.trim() !== "" && { worker_id: worker.trim() }) },
      }),
    { done: "The version is pinned", failed: "The version was not pinned", quiet: true },
  );
  const send = (to: string | null) => pin.mutate(to, { onSuccess: onClose });
  const { pin: fleet_pin, worker_pins } = updates;
  const pinned = worker.trim() === "" ? fleet_pin !== null : worker.trim() in worker_pins;
  return (
    <Modal opened={opened} onClose={onClose} title="Pin a version" centered>
      <Stack
        component="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (version.trim() !== "") send(version.trim());
        }}
      >
        <Text size="sm">
          Workers keep this version, whatever version the hub has. They can go back to a version
          that they still have: their own program's, or the one before.
        </Text>
        <TextInput
          label="Version"
          data-autofocus
          placeholder={updates.target ?? ""}
          value={version}
          onChange={(event) => setVersion(event.currentTarget.value)}
        />
        <TextInput
          label="Worker"
          description="Empty: the whole fleet"
          value={worker}
          onChange={(event) => setWorker(event.currentTarget.value)}
        />
        {pin.error && (
          <Alert color="red" role="alert" className="wrap">
            {errorText(pin.error)}
          </Alert>
        )}
        <Group justify="flex-end">
          {pinned && (
            <Button variant="default" loading={pin.isPending} onClick={() => send(null)}>
              Remove the pin
            </Button>
          )}
          <Button type="submit" loading={pin.isPending} disabled={version.trim() === ""}>
            Pin
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

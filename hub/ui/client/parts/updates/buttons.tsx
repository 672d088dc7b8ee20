import { Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { FleetUpdates } from "#shared/protocol/schema/updates.ts";
import { call } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../confirm.tsx";
import { PinDialog } from "./pin-dialog.tsx";

const APPROVABLE: readonly FleetUpdates["state"][] = ["stopped", "waiting_for_approval"];

/** Pause or resume, approve, pin; the server asks for the administrator's password, and the page for it in its turn. */
export function UpdateButtons({ updates }: { updates: FleetUpdates }) {
  const { state, target, paused_since } = updates;
  const [pinning, pin] = useDisclosure(false);
  const pause = useChange(() => call("POST /api/v1/updates/pause"), {
    done: "Updates are paused",
    failed: "Updates were not paused",
  });
  const resume = useChange(() => call("POST /api/v1/updates/resume"), {
    done: "Updates have resumed",
    failed: "Updates were not resumed",
  });
  const approve = useChange(
    () =>
      call("POST /api/v1/updates/approve", { json: target === null ? {} : { version: target } }),
    { done: "The roll-out is approved", failed: "The roll-out was not approved" },
  );
  return (
    <Group gap="xs">
      {APPROVABLE.includes(state) && (
        <ConfirmButton
          size="xs"
          question={`Let the workers go on to ${target}?`}
          text={
            state === "stopped"
              ? "The others take the version that failed on one of them. A worker that went back to its old version keeps it."
              : "The workers that wait take the version one after the other."
          }
          confirm="Approve"
          loading={approve.isPending}
          onConfirm={() => approve.mutate(undefined)}
        >
          Approve
        </ConfirmButton>
      )}
      {paused_since === null ? (
        <Button
          size="xs"
          variant="default"
          loading={pause.isPending}
          onClick={() => pause.mutate(undefined)}
        >
          Pause updates
        </Button>
      ) : (
        <Button
          size="xs"
          variant="default"
          loading={resume.isPending}
          onClick={() => resume.mutate(undefined)}
        >
          Resume updates
        </Button>
      )}
      <Button size="xs" variant="default" onClick={pin.open}>
        Pin a version
      </Button>
      <PinDialog updates={updates} opened={pinning} onClose={pin.close} />
    </Group>
  );
}

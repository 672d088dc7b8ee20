import { Button, FileInput, Group, Progress, Stack, Text, TextInput } from "@mantine/core";
import { IconUpload } from "@tabler/icons-react";
import { useRef, useState } from "react";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { useApiForm } from "../../forms/use-api-form.ts";
import { bytesText } from "../../lib/units.ts";
import { Command } from "../../parts/copy.tsx";
import { FormErrors } from "../../parts/form-errors.tsx";
import { nameFrom, type UploadState, uploadProfile } from "./upload.ts";

const RULES = rulesOf("SaveProfile");

interface UploadFormProps {
  /** Of profiles that there are: they would be replaced. */
  names: readonly string[];
  onStored: (name: string) => void;
}

/** Stores an archive under a name, telling how much of it has been sent; it may be cancelled until it is stored. */
export function UploadForm({ names, onStored }: UploadFormProps) {
  const [sent, setSent] = useState<UploadState | null>(null);
  const stop = useRef<AbortController | null>(null);
  const {
    form,
    saving: upload,
    props,
  } = useApiForm({
    initial: { name: "", file: null as File | null },
    rules: RULES,
    bodyOf: (values) => values,
    send: async ({ name: to, file: archive }) => {
      if (archive === null) throw new Error("choose an archive");
      const controller = new AbortController();
      stop.current = controller;
      setSent({ sent: 0, total: archive.size });
      try {
        return await uploadProfile(to, archive, setSent, controller.signal);
      } finally {
        setSent(null);
      }
    },
    done: (profile) => `${profile.name} is stored: ${bytesText(profile.size)}`,
    failed: "The profile was not stored",
    onDone: (profile) => onStored(profile.name),
  });
  const { file, name } = form.values;
  const cancelled = stop.current?.signal.aborted === true;
  const replaces = names.includes(name);
  const pick = (next: File | null) => {
    upload.reset();
    form.setFieldValue("file", next);
    if (next && name === "") form.setFieldValue("name", nameFrom(next.name));
  };
  return (
    <>
      <form {...props} aria-label="Upload a profile">
        <Stack gap="sm">
          <FileInput
            label="Archive"
            description="tar or tar.gz with Default/, Profile N/ or a profile's files"
            placeholder="Choose a file"
            accept=".tar,.gz,.tgz,application/x-tar,application/gzip"
            leftSection={<IconUpload size={16} />}
            clearable
            clearButtonProps={{ "aria-label": "Choose another file" }}
            value={file}
            onChange={pick}
            disabled={upload.isPending}
          />
          <TextInput
            label="Name"
            description="a-z, 0-9, hyphen and underscore"
            {...form.getInputProps("name")}
            disabled={upload.isPending}
          />
          {replaces && !upload.isPending && (
            <Text size="sm">
              A profile with this name exists and will be replaced. Running jobs keep what they were
              given.
            </Text>
          )}
          {sent && <Sent {...sent} />}
          {upload.error &&
            (cancelled ? (
              <Text size="sm" role="status">
                Cancelled: nothing was stored.
              </Text>
            ) : (
              <FormErrors
                error={upload.error}
                title="The profile was not stored"
                fields={["name"]}
              />
            ))}
          <Group gap="sm">
            <Button
              type="submit"
              loading={upload.isPending}
              disabled={file === null || name === ""}
            >
              {replaces ? "Upload and replace" : "Upload"}
            </Button>
            {upload.isPending && (
              <Button
                variant="default"
                onClick={() => stop.current?.abort(new Error("it was cancelled"))}
              >
                Cancel the upload
              </Button>
            )}
          </Group>
        </Stack>
      </form>
      <Text size="sm" mt="md" mb={4}>
        Close the browser, then pack its profile. The hub leaves out caches, locks and open windows.
      </Text>
      <Command
        text={`tar -czf work.tar.gz -C ~/.config/chromium Default "Local State"\ncurl -X POST ${location.origin}/profiles/work -H 'content-type: application/gzip' --data-binary @work.tar.gz`}
      />
    </>
  );
}

function Sent({ sent, total }: UploadState) {
  const share = total === 0 ? 100 : (sent / total) * 100;
  const whole = sent >= total;
  return (
    <div>
      <Progress value={share} animated={whole} aria-label="Upload progress" />
      <Text size="sm" mt={4} role="status">
        {whole
          ? `${bytesText(total)} sent; the hub checks and packs it`
          : `${bytesText(sent)} of ${bytesText(total)} sent, ${Math.floor(share)} %`}
      </Text>
    </div>
  );
}

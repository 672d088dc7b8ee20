import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import type { LlmTested } from "#shared/protocol/schema/operations.ts";
import { call } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { durationText } from "../../lib/units.ts";

const ADVICE: Record<NonNullable<LlmTested["error_kind"]>, string> = {
  refused_address: "Cloud metadata and link-local addresses are never called.",
  no_key: "Set the variable in the server's environment and start it again.",
  dns: "The host name is not known: check the address.",
  refused: "Nothing listens there: start the backend, or check the port.",
  network: "Check the address and the network between server and backend.",
  tls: "Check the certificate of the backend, or https against http.",
  timeout:
    "The backend is too slow or hangs; the setting llm_timeout_s says how long the server waits.",
  auth: "The key is wrong or missing: check the named variable.",
  http_status: "The backend answered and refused: its reason is above.",
  bad_json: "This is not an OpenAI-compatible address; most end with /v1.",
};

/** How a test of an engine went: always in words, and by colour too. */
export function Tested({ tested }: { tested: LlmTested }) {
  const { ok, error_kind, reply, error, latency_ms, model, status } = tested;
  return (
    <Alert
      color={ok ? "teal" : "red"}
      title={ok ? "The engine answered" : `The engine did not answer: ${error_kind ?? "error"}`}
      role="status"
    >
      <Stack gap={4}>
        <Text size="sm" className="wrap">
          {ok ? reply || "(an empty answer)" : error}
        </Text>
        {error_kind && <Text size="sm">{ADVICE[error_kind]}</Text>}
        <Text size="xs" c="dimmed">
          {[durationText(latency_ms), model, status && `HTTP ${status}`].filter(Boolean).join(", ")}
        </Text>
      </Stack>
    </Alert>
  );
}

export interface TestInput {
  engine?: string;
  url?: string;
  model?: string;
  api_key_env?: string;
  prompt?: string;
}

/** An engine has up to 300 s for its answer. */
const TEST_MS = 310_000;

/** Asks an engine for one word through the server. */
export const testEngine = (json: TestInput) =>
  call("POST /api/v1/settings/llm/test", { json, timeout_ms: TEST_MS });
export const NOT_TESTED = "The engine was not tested";

/** Tests what the form says, stored or not. */
export function EngineTest({ url, model, api_key_env }: TestInput) {
  const test = useChange(testEngine, { failed: NOT_TESTED });
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Button
          variant="default"
          disabled={!url || !model}
          loading={test.isPending}
          onClick={() => test.mutate({ url, model, ...(api_key_env ? { api_key_env } : {}) })}
        >
          Test
        </Button>
        <Text size="xs" c="dimmed">
          Asks it for one word, with the form as it is now
          {api_key_env ? "; only the administrator may have a key sent" : ""}.
        </Text>
      </Group>
      {test.data && <Tested tested={test.data} />}
    </Stack>
  );
}

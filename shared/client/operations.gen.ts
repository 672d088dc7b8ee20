/**
 * Every operation of the API, as its route defines it; written by `bun run gen` (scripts/gen-operations.ts). `answer` is the
 * JSON of a success, null where it has none, never where it is no JSON.
 */
import type { z } from "zod";
import type { in_frame, none } from "#shared/protocol/actions/arguments.ts";
import type { INPUT_ACTIONS } from "#shared/protocol/actions/input.ts";
import type { READING_ACTIONS } from "#shared/protocol/actions/reading.ts";
import type { aria_piece, dialog, dialogs, downloaded, downloads, gesture, gone, kept, links, picture_bytes, scrolled, tabs } from "#shared/protocol/actions/results.ts";
import type { SESSION_ACTIONS } from "#shared/protocol/actions/session-actions.ts";
import type { AgentList, AgentSynced, InstanceInventory, InstanceList, InstancesStopped, RestartAsked, SpawnInstances, StopInstances, SyncAgent } from "#shared/protocol/schema/agent.ts";
import type { Asset, AssetList, JobResult, LinkList } from "#shared/protocol/schema/asset.ts";
import type { Attempt, AttemptList } from "#shared/protocol/schema/attempt.ts";
import type { AuditPage } from "#shared/protocol/schema/audit.ts";
import type { JobComparison } from "#shared/protocol/schema/comparison.ts";
import type { Convention, ConventionList, PutConvention } from "#shared/protocol/schema/convention.ts";
import type { DirectUpload, DirectUploadBody, DirectUploadDone } from "#shared/protocol/schema/direct-upload.ts";
import type { Engine, EngineList, PutEngine, ResolvedEngine } from "#shared/protocol/schema/engine.ts";
import type { ErrorBody, TooBusy } from "#shared/protocol/schema/error.ts";
import type { CheckExecutor, ExecutorCheck } from "#shared/protocol/schema/executor.ts";
import type { FailureList, FailureMove, FailureSelection, JobChangesMade, JobFailureList, JobSelection, TaskChanges, TaskMove, TaskSelection } from "#shared/protocol/schema/failure.ts";
import type { Figures } from "#shared/protocol/schema/figures.ts";
import type { FleetSettings, PatchFleetSettings } from "#shared/protocol/schema/fleet-settings.ts";
import type { DashboardOverview, FlowLayout, FlowRates, FlowSnapshot, GpuMetrics, RunsSummary, WorkersCpu } from "#shared/protocol/schema/flow.ts";
import type { Har } from "#shared/protocol/schema/har.ts";
import type { ControlHealth, ControlStatus, Health } from "#shared/protocol/schema/health.ts";
import type { Host, HostList, PutHost, PutHostCookies, SyncCookies, SyncedCookies } from "#shared/protocol/schema/host.ts";
import type { Job, JobCount, JobEventList, JobList, PatchJob, SubmitJob } from "#shared/protocol/schema/job.ts";
import type { ONE_SHOTS, ONE_SHOT_ANSWERS } from "#shared/protocol/schema/one-shot.ts";
import type { DeployList, DeployStarted, LlmTest, LlmTested, LogPage, LogsShipped, PutSetting, Setting, SettingList, ShipLogs, StartDeploy } from "#shared/protocol/schema/operations.ts";
import type { AgentResult, AskResult } from "#shared/protocol/schema/page-agent.ts";
import type { PluginBlob, PluginBlobList, PluginList, PluginState, PluginStateList } from "#shared/protocol/schema/plugin.ts";
import type { Preset, PresetList, PutPreset } from "#shared/protocol/schema/preset.ts";
import type { Live, Pressure, Ready } from "#shared/protocol/schema/probes.ts";
import type { DefaultProfile, Profile, ProfileList } from "#shared/protocol/schema/profile.ts";
import type { AdminCommand, AnswerCheck, ConfigPoll, Leases, LiveLogs, LiveRuns, WorkerConfig } from "#shared/protocol/schema/pull-daemon.ts";
import type { ChangeFilter, ClaimTasks, Claimed, CompleteTasks, Exchange, Exchanged, FailTasks, PullHeartbeat, PullHeartbeatAnswer, PullWorker, PullWorkerList, RegisterPull, RegisteredPull, Reported, WorkerCommand } from "#shared/protocol/schema/pull.ts";
import type { QueueCounts, QueuePeek, ResetFailed, Run, RunList, SubmitResult, TaskBatch, TaskHistory, TaskIn, TaskStatus, TaskStatusQuery } from "#shared/protocol/schema/queue.ts";
import type { LoginRecipe, Recipe } from "#shared/protocol/schema/recipe.ts";
import type { RecordMode } from "#shared/protocol/schema/record-mode.ts";
import type { Picked, RecordInput, RecordedInput } from "#shared/protocol/schema/recorded-input.ts";
import type { PutSavedList, SavedList, SavedLists } from "#shared/protocol/schema/saved-list.ts";
import type { SchedulePreview } from "#shared/protocol/schema/schedule.ts";
import type { SearchResult } from "#shared/protocol/schema/search.ts";
import type { ActionFailure, ActionReply, CookieList, CreateSession, NetworkLog, PutCookies, SaveProfile, ScreenshotRequest, Session, SessionFileList, SessionList } from "#shared/protocol/schema/session.ts";
import type { CreateSignedLink, SignedLink } from "#shared/protocol/schema/signed-link.ts";
import type { PutSkill, Skill, SkillList } from "#shared/protocol/schema/skill.ts";
import type { Supervision } from "#shared/protocol/schema/supervisor.ts";
import type { ImportResult } from "#shared/protocol/schema/task-import.ts";
import type { CreateToken, CreatedToken, TokenList } from "#shared/protocol/schema/token.ts";
import type { ApproveUpdate, FleetUpdates, PinUpdate } from "#shared/protocol/schema/updates.ts";
import type { VIEWER_EVENTS } from "#shared/protocol/schema/viewer-event.ts";
import type { PatchWatch, PutWatch, Watch, WatchList } from "#shared/protocol/schema/watch.ts";
import type { SetWorkerStatus, Worker, WorkerList } from "#shared/protocol/schema/worker.ts";
import type { RestoreVersion, WorkloadVersionCode, WorkloadVersionList } from "#shared/protocol/schema/workload-code.ts";
import type { CheckDraft, CreatedWorkload, SetEnabled, SetSupervisorEnabled, Workload, WorkloadCreate, WorkloadList, WorkloadUpdate } from "#shared/protocol/schema/workload.ts";
import type { CallBody } from "./body.ts";

/** Refusals that say why in `detail`, and no more. */
type Plain<S extends number> = Record<S, z.output<typeof ErrorBody>>;

export interface Operations {
  /** Is the hub healthy? */
  "GET /health": {
    answer: z.output<typeof Health>;
    refusals: { 503: z.output<typeof Health> };
  };
  /** Does the process run? */
  "GET /live": {
    answer: z.output<typeof Live>;
  };
  /** Should a router send calls here? */
  "GET /ready": {
    answer: z.output<typeof Ready>;
    refusals: { 503: z.output<typeof Ready> };
  };
  /** How busy is it, and would new work begin at once? */
  "GET /pressure": {
    answer: z.output<typeof Pressure>;
    refusals: Plain<503>;
  };
  /** Read the metrics of this process, for Prometheus */
  "GET /metrics": {
    answer: never;
    refusals: Plain<503>;
  };
  /** Read what the fleet does, what went wrong and why */
  "GET /figures": {
    query?: { range?: "1h" | "6h" | "24h" | "7d" };
    answer: z.output<typeof Figures>;
    refusals: Plain<422 | 503>;
  };
  /** Failed jobs in groups, by what they have in common */
  "GET /jobs/failures": {
    query?: { host?: string; fingerprint?: string; worker?: string; since?: string; until?: string; text?: string; sort?: "last_seen" | "count"; buckets?: number; limit?: number; cursor?: string };
    answer: z.output<typeof JobFailureList>;
    refusals: Plain<422>;
  };
  /** Submit the failed jobs that a filter finds again */
  "POST /jobs/retry": {
    json: z.input<typeof JobSelection>;
    answer: z.output<typeof JobChangesMade>;
    refusals: Plain<400 | 409 | 413 | 415 | 422>;
  };
  /** Cancel the queued and running jobs that a filter finds */
  "POST /jobs/cancel": {
    json: z.input<typeof JobSelection>;
    answer: z.output<typeof JobChangesMade>;
    refusals: Plain<400 | 409 | 413 | 415 | 422>;
  };
  /** Delete the failed jobs that a filter finds, with their files */
  "POST /jobs/delete": {
    json: z.input<typeof JobSelection>;
    answer: z.output<typeof JobChangesMade>;
    refusals: Plain<400 | 409 | 413 | 415 | 422>;
  };
  /** Submit a job */
  "POST /jobs": {
    json: z.input<typeof SubmitJob>;
    answer: z.output<typeof Job>;
    refusals: Plain<400 | 409 | 413 | 415 | 422> & { 503: z.output<typeof TooBusy> };
  };
  /** List jobs, newest first */
  "GET /jobs": {
    query?: { status?: "queued" | "running" | "completed" | "failed" | "cancelled"; result?: "completed" | "http_error" | "failed" | "cancelled"; mode?: "fetch" | "codegen-loop" | "rerun"; host?: string; worker_id?: string; watch?: string; fingerprint?: string; changed?: boolean; q?: string; url?: string; words?: string; label?: string | readonly string[]; since?: string; until?: string; limit?: number; cursor?: string };
    answer: z.output<typeof JobList>;
    refusals: Plain<422>;
  };
  /** Count the jobs that filters match */
  "GET /jobs/count": {
    query?: { status?: "queued" | "running" | "completed" | "failed" | "cancelled"; result?: "completed" | "http_error" | "failed" | "cancelled"; mode?: "fetch" | "codegen-loop" | "rerun"; host?: string; worker_id?: string; watch?: string; fingerprint?: string; changed?: boolean; q?: string; url?: string; words?: string; label?: string | readonly string[]; since?: string; until?: string };
    answer: z.output<typeof JobCount>;
    refusals: Plain<422>;
  };
  /** Read a job */
  "GET /jobs/{id}": {
    params: { id: string | number };
    answer: z.output<typeof Job>;
    refusals: Plain<404>;
  };
  /** Cancel a job; what a running one stored is kept */
  "POST /jobs/{id}/cancel": {
    params: { id: string | number };
    answer: z.output<typeof Job>;
    refusals: Plain<404 | 409 | 413 | 422>;
  };
  /** Delete a job and its files; a running one is cancelled first */
  "DELETE /jobs/{id}": {
    params: { id: string | number };
    answer: null;
    refusals: Plain<404 | 409 | 413 | 422>;
  };
  /** Change the labels of a job, whatever its state */
  "PATCH /jobs/{id}": {
    params: { id: string | number };
    json: z.input<typeof PatchJob>;
    answer: z.output<typeof Job>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422>;
  };
  /** List the attempts of a codegen-loop or rerun job */
  "GET /jobs/{id}/attempts": {
    params: { id: string | number };
    answer: z.output<typeof AttemptList>;
    refusals: Plain<404>;
  };
  /** Read one attempt: prompt, reply, script, streams, verdict, timings, evidence */
  "GET /jobs/{id}/attempts/{n}": {
    params: { id: string | number; n: string | number };
    answer: z.output<typeof Attempt>;
    refusals: Plain<404>;
  };
  /** Read the result of a job */
  "GET /jobs/{id}/result": {
    params: { id: string | number };
    answer: z.output<typeof JobResult>;
    refusals: Plain<404>;
  };
  /** List the assets of a job */
  "GET /jobs/{id}/assets.json": {
    params: { id: string | number };
    answer: z.output<typeof AssetList>;
    refusals: Plain<404>;
  };
  /** Read an asset body */
  "GET /jobs/{id}/assets/{name}": {
    params: { id: string | number; name: string | number };
    answer: never;
    refusals: Plain<404 | 416>;
  };
  /** Download every file of a job as one archive */
  "GET /jobs/{id}/assets.zip": {
    params: { id: string | number };
    answer: never;
    refusals: Plain<404>;
  };
  /** Download what the browser requested and received as a WARC file */
  "GET /jobs/{id}/archive.warc.gz": {
    params: { id: string | number };
    answer: never;
    refusals: Plain<404>;
  };
  /** Download what the browser requested and received as a WACZ file */
  "GET /jobs/{id}/archive.wacz": {
    params: { id: string | number };
    answer: never;
    refusals: Plain<404>;
  };
  /** Read the execution log, even of a running job */
  "GET /jobs/{id}/log.txt": {
    params: { id: string | number };
    answer: never;
    refusals: Plain<404>;
  };
  /** Read the captured HTML */
  "GET /jobs/{id}/page.html": {
    params: { id: string | number };
    answer: never;
    refusals: Plain<404>;
  };
  /** Read the screenshot of the whole page at the end of a job */
  "GET /jobs/{id}/screenshot.png": {
    params: { id: string | number };
    answer: never;
    refusals: Plain<404>;
  };
  /** Read a small picture of the page at the end of a job */
  "GET /jobs/{id}/thumbnail.webp": {
    params: { id: string | number };
    answer: never;
    refusals: Plain<404>;
  };
  /** List the links of the page */
  "GET /jobs/{id}/links.json": {
    params: { id: string | number };
    answer: z.output<typeof LinkList>;
    refusals: Plain<404>;
  };
  /** Download the Playwright trace of a script */
  "GET /jobs/{id}/trace.zip": {
    params: { id: string | number };
    answer: never;
    refusals: Plain<404>;
  };
  /** Read what the browser requested and received, as HAR 1.2 */
  "GET /jobs/{id}/har.json": {
    params: { id: string | number };
    answer: z.output<typeof Har>;
    refusals: Plain<404>;
  };
  /** Compare what two completed jobs captured */
  "GET /jobs/{id}/diff/{other}": {
    params: { id: string | number; other: string | number };
    answer: z.output<typeof JobComparison>;
    refusals: Plain<404 | 409 | 503 | 504>;
  };
  /** Download several jobs as one WACZ file */
  "GET /archive.wacz": {
    query?: { label?: string | readonly string[]; jobs?: string };
    answer: never;
    refusals: Plain<400 | 404 | 422>;
  };
  /** Import a web archive as a job */
  "POST /jobs/import": {
    body?: CallBody;
    answer: z.output<typeof Job>;
    refusals: Plain<413 | 415 | 422 | 503>;
  };
  /** Take a screenshot of a running job's page and store it as an asset */
  "POST /jobs/{id}/screenshot/capture": {
    params: { id: string | number };
    json: z.input<typeof ScreenshotRequest>;
    answer: z.output<typeof Asset>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 502 | 503 | 504>;
  };
  /** WebSocket: the events of a job */
  "GET /jobs/{id}/events": {
    params: { id: string | number };
    query?: { since?: number };
    answer: never;
    refusals: Plain<403 | 422 | 426>;
  };
  /** Read the events of a job so far, a page of them */
  "GET /jobs/{id}/events.json": {
    params: { id: string | number };
    query?: { since?: number; limit?: number };
    answer: z.output<typeof JobEventList>;
    refusals: Plain<404 | 422>;
  };
  /** List all watches */
  "GET /watches": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof WatchList>;
    refusals: Plain<422 | 503>;
  };
  /** Read a watch */
  "GET /watches/{watch_id}": {
    params: { watch_id: string | number };
    answer: z.output<typeof Watch>;
    refusals: Plain<404 | 503>;
  };
  /** Capture a page again and again */
  "POST /watches": {
    json: z.input<typeof PutWatch>;
    answer: z.output<typeof Watch>;
    refusals: Plain<400 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Replace what is decided about a watch */
  "PUT /watches/{watch_id}": {
    params: { watch_id: string | number };
    json: z.input<typeof PutWatch>;
    answer: z.output<typeof Watch>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Change some of a watch */
  "PATCH /watches/{watch_id}": {
    params: { watch_id: string | number };
    json: z.input<typeof PatchWatch>;
    answer: z.output<typeof Watch>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Delete a watch */
  "DELETE /watches/{watch_id}": {
    params: { watch_id: string | number };
    answer: null;
    refusals: Plain<404 | 409 | 413 | 422 | 503>;
  };
  /** Capture a watch now */
  "POST /watches/{watch_id}/capture": {
    params: { watch_id: string | number };
    answer: z.output<typeof Job>;
    refusals: Plain<404 | 409 | 413 | 422 | 503>;
  };
  /** List workers, connected or remembered */
  "GET /workers": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof WorkerList>;
    refusals: Plain<422 | 503>;
  };
  /** Read one worker, connected to any hub or remembered */
  "GET /workers/{id}": {
    params: { id: string | number };
    answer: z.output<typeof Worker>;
    refusals: Plain<404 | 503>;
  };
  /** Set a worker to active, drain or standby */
  "POST /workers/{id}/status": {
    params: { id: string | number };
    json: z.input<typeof SetWorkerStatus>;
    answer: z.output<typeof Worker>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Forget a worker that is not connected */
  "DELETE /workers/{id}": {
    params: { id: string | number };
    answer: null;
    refusals: Plain<404 | 409 | 413 | 422 | 503>;
  };
  /** Open a session on a free lane */
  "POST /sessions": {
    json: z.input<typeof CreateSession>;
    answer: z.output<typeof Session>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 502 | 503 | 504>;
  };
  /** List the sessions that are open, oldest first, or those that have ended */
  "GET /sessions": {
    query?: { limit?: number; cursor?: string; status?: "active" | "ended"; q?: string; worker_id?: string };
    answer: z.output<typeof SessionList>;
    refusals: Plain<422 | 503>;
  };
  /** Read a session; 404 forever once it has ended */
  "GET /sessions/{sid}": {
    params: { sid: string | number };
    answer: z.output<typeof Session>;
    refusals: Plain<404>;
  };
  /** Read a session; 404 forever once it has ended */
  "GET /sessions/{sid}/state": {
    params: { sid: string | number };
    answer: z.output<typeof Session>;
    refusals: Plain<404>;
  };
  /** End a session and its browser; a job that runs in it is cancelled */
  "DELETE /sessions/{sid}": {
    params: { sid: string | number };
    answer: null;
    refusals: Plain<404 | 409 | 413 | 422 | 503>;
  };
  /** Find jobs, sessions, workers, hosts and what else the fleet knows by a few words */
  "GET /search": {
    query: { q: string; limit?: number };
    answer: z.output<typeof SearchResult>;
    refusals: Plain<422 | 503>;
  };
  /** Go to a URL */
  "POST /sessions/{sid}/navigate": {
    params: { sid: string | number };
    json: z.input<(typeof INPUT_ACTIONS)["navigate"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof gone> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Click an element, or a point of the page */
  "POST /sessions/{sid}/click": {
    params: { sid: string | number };
    json: z.input<(typeof INPUT_ACTIONS)["click"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<(typeof INPUT_ACTIONS)["click"]["result"]> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Set the text of a field */
  "POST /sessions/{sid}/fill": {
    params: { sid: string | number };
    json: z.input<(typeof INPUT_ACTIONS)["fill"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: null };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Send keys, one by one */
  "POST /sessions/{sid}/type": {
    params: { sid: string | number };
    json: z.input<(typeof INPUT_ACTIONS)["type"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: null };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Press one key or a combination */
  "POST /sessions/{sid}/press": {
    params: { sid: string | number };
    json: z.input<(typeof INPUT_ACTIONS)["press"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof gesture> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Move the pointer over an element */
  "POST /sessions/{sid}/hover": {
    params: { sid: string | number };
    json: z.input<(typeof INPUT_ACTIONS)["hover"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: null };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Drag one element onto another */
  "POST /sessions/{sid}/drag_and_drop": {
    params: { sid: string | number };
    json: z.input<(typeof INPUT_ACTIONS)["drag_and_drop"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: null };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Move the pointer, press or release a button */
  "POST /sessions/{sid}/mouse": {
    params: { sid: string | number };
    json: z.input<(typeof INPUT_ACTIONS)["mouse"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof gesture> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Select options of a list */
  "POST /sessions/{sid}/select_option": {
    params: { sid: string | number };
    json: z.input<(typeof INPUT_ACTIONS)["select_option"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<(typeof INPUT_ACTIONS)["select_option"]["result"]> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Tick a checkbox */
  "POST /sessions/{sid}/check": {
    params: { sid: string | number };
    json: z.input<(typeof INPUT_ACTIONS)["check"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof gesture> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Untick a checkbox */
  "POST /sessions/{sid}/uncheck": {
    params: { sid: string | number };
    json: z.input<(typeof INPUT_ACTIONS)["uncheck"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof gesture> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Scroll by pixels, or to an element */
  "POST /sessions/{sid}/scroll": {
    params: { sid: string | number };
    json: z.input<(typeof INPUT_ACTIONS)["scroll"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof scrolled> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Wait for an element, a load state or a length of time */
  "POST /sessions/{sid}/wait": {
    params: { sid: string | number };
    json: z.input<(typeof INPUT_ACTIONS)["wait"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: null };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Run JavaScript in the page */
  "POST /sessions/{sid}/evaluate": {
    params: { sid: string | number };
    json: z.input<(typeof INPUT_ACTIONS)["evaluate"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: unknown };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Give files to an input */
  "POST /sessions/{sid}/set_input_files": {
    params: { sid: string | number };
    json?: z.input<(typeof INPUT_ACTIONS)["set_input_files"]["args"]>;
    body?: CallBody;
    answer: z.output<typeof ActionReply> & { result: null };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Take a screenshot of the page or an element */
  "POST /sessions/{sid}/screenshot": {
    params: { sid: string | number };
    json?: z.input<(typeof READING_ACTIONS)["screenshot"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof picture_bytes> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Print the page (headless sessions) */
  "POST /sessions/{sid}/pdf": {
    params: { sid: string | number };
    json?: z.input<(typeof READING_ACTIONS)["pdf"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof picture_bytes> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Read the accessibility tree, with references to its elements */
  "POST /sessions/{sid}/aria_snapshot": {
    params: { sid: string | number };
    json?: z.input<(typeof READING_ACTIONS)["aria_snapshot"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof aria_piece> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Read the HTML */
  "POST /sessions/{sid}/content": {
    params: { sid: string | number };
    json?: z.input<typeof in_frame>;
    answer: z.output<typeof ActionReply> & { result: string };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Read the visible text */
  "POST /sessions/{sid}/text": {
    params: { sid: string | number };
    json?: z.input<(typeof READING_ACTIONS)["text"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: string };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Read the page as Markdown */
  "POST /sessions/{sid}/markdown": {
    params: { sid: string | number };
    json?: z.input<(typeof READING_ACTIONS)["markdown"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: string };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** List the links */
  "POST /sessions/{sid}/links": {
    params: { sid: string | number };
    json?: z.input<typeof in_frame>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof links> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Say what is at a point of the picture, and how to select it */
  "POST /sessions/{sid}/pick": {
    params: { sid: string | number };
    json: z.input<(typeof READING_ACTIONS)["pick"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof Picked> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Go back */
  "POST /sessions/{sid}/back": {
    params: { sid: string | number };
    json?: z.input<typeof none>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof gone> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Go forward */
  "POST /sessions/{sid}/forward": {
    params: { sid: string | number };
    json?: z.input<typeof none>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof gone> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Reload */
  "POST /sessions/{sid}/reload": {
    params: { sid: string | number };
    json?: z.input<(typeof SESSION_ACTIONS)["reload"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof gone> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** List the tabs */
  "POST /sessions/{sid}/tabs": {
    params: { sid: string | number };
    json?: z.input<typeof none>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof tabs> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Open, close or select a tab */
  "POST /sessions/{sid}/tab": {
    params: { sid: string | number };
    json: z.input<(typeof SESSION_ACTIONS)["tab"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof tabs> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** List the dialogs that pages have opened */
  "POST /sessions/{sid}/dialogs": {
    params: { sid: string | number };
    json?: z.input<typeof none>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof dialogs> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Accept or dismiss a dialog */
  "POST /sessions/{sid}/dialog": {
    params: { sid: string | number };
    json: z.input<(typeof SESSION_ACTIONS)["dialog"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof dialog> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** List what the browser downloaded */
  "POST /sessions/{sid}/downloads": {
    params: { sid: string | number };
    json?: z.input<typeof none>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof downloads> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Read a downloaded file, once it is complete */
  "POST /sessions/{sid}/read_download": {
    params: { sid: string | number };
    json?: z.input<(typeof SESSION_ACTIONS)["read_download"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof downloaded> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Count as activity; can set the idle TTL */
  "POST /sessions/{sid}/keepalive": {
    params: { sid: string | number };
    json?: z.input<(typeof SESSION_ACTIONS)["keepalive"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof kept> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Run the actions of a recipe */
  "POST /sessions/{sid}/recipe": {
    params: { sid: string | number };
    json: z.input<(typeof SESSION_ACTIONS)["recipe"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: null };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Ask an engine about the page */
  "POST /sessions/{sid}/ask": {
    params: { sid: string | number };
    json: z.input<(typeof SESSION_ACTIONS)["ask"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof AskResult> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Let an engine work towards a goal, step by step */
  "POST /sessions/{sid}/agent": {
    params: { sid: string | number };
    json: z.input<(typeof SESSION_ACTIONS)["agent"]["args"]>;
    answer: z.output<typeof ActionReply> & { result: z.output<typeof AgentResult> };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Open a page and answer a picture of it */
  "POST /screenshot": {
    query?: { timeout?: string; blockAds?: "true" | "false" | ""; token?: string };
    json: z.input<(typeof ONE_SHOTS)["screenshot"]>;
    answer: z.output<(typeof ONE_SHOT_ANSWERS)["screenshot"]>;
    refusals: Plain<400 | 404 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Open a page and answer it as a PDF */
  "POST /pdf": {
    query?: { timeout?: string; blockAds?: "true" | "false" | ""; token?: string };
    json: z.input<(typeof ONE_SHOTS)["pdf"]>;
    answer: z.output<(typeof ONE_SHOT_ANSWERS)["pdf"]>;
    refusals: Plain<400 | 404 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Open a page and answer its HTML, as its scripts have made it */
  "POST /content": {
    query?: { timeout?: string; blockAds?: "true" | "false" | ""; token?: string };
    json: z.input<(typeof ONE_SHOTS)["content"]>;
    answer: z.output<(typeof ONE_SHOT_ANSWERS)["content"]>;
    refusals: Plain<400 | 404 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Open a page and answer it as Markdown */
  "POST /markdown": {
    query?: { timeout?: string; blockAds?: "true" | "false" | ""; token?: string };
    json: z.input<(typeof ONE_SHOTS)["markdown"]>;
    answer: z.output<(typeof ONE_SHOT_ANSWERS)["markdown"]>;
    refusals: Plain<400 | 404 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Open a page and answer its elements, or the whole of it in several formats */
  "POST /scrape": {
    query?: { timeout?: string; blockAds?: "true" | "false" | ""; token?: string };
    json: z.input<(typeof ONE_SHOTS)["scrape"]>;
    answer: z.output<(typeof ONE_SHOT_ANSWERS)["scrape"]>;
    refusals: Plain<400 | 404 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** Open a page, run JavaScript in it and answer the result */
  "POST /evaluate": {
    query?: { timeout?: string; blockAds?: "true" | "false" | ""; token?: string };
    json: z.input<(typeof ONE_SHOTS)["evaluate"]>;
    answer: z.output<(typeof ONE_SHOT_ANSWERS)["evaluate"]>;
    refusals: Plain<400 | 404 | 413 | 415 | 502 | 503 | 504> & { 422: z.output<typeof ActionFailure> };
  };
  /** List the cookies, with their values */
  "GET /sessions/{sid}/cookies": {
    params: { sid: string | number };
    answer: z.output<typeof CookieList>;
    refusals: Plain<404 | 422 | 502 | 503 | 504>;
  };
  /** Add or replace cookies; the others stay */
  "PUT /sessions/{sid}/cookies": {
    params: { sid: string | number };
    json: z.input<typeof PutCookies>;
    answer: z.output<typeof CookieList>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 502 | 503 | 504>;
  };
  /** Delete every cookie */
  "DELETE /sessions/{sid}/cookies": {
    params: { sid: string | number };
    answer: null;
    refusals: Plain<404 | 409 | 413 | 422 | 502 | 503 | 504>;
  };
  /** Record what people do as steps, or stop */
  "POST /sessions/{sid}/record-input": {
    params: { sid: string | number };
    json: z.input<typeof RecordInput>;
    answer: z.output<typeof RecordedInput>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 502 | 503 | 504>;
  };
  /** Read the recorded steps */
  "GET /sessions/{sid}/record-input": {
    params: { sid: string | number };
    query?: { revision?: number; wait_s?: number };
    answer: z.output<typeof RecordedInput>;
    refusals: Plain<404 | 422 | 502 | 503 | 504>;
  };
  /** Read the network log */
  "GET /sessions/{sid}/network": {
    params: { sid: string | number };
    query?: { since?: number };
    answer: z.output<typeof NetworkLog>;
    refusals: Plain<404 | 422 | 502 | 503 | 504>;
  };
  /** List what the browser has downloaded */
  "GET /sessions/{sid}/files": {
    params: { sid: string | number };
    answer: z.output<typeof SessionFileList>;
    refusals: Plain<404 | 422 | 502 | 503 | 504>;
  };
  /** Read a downloaded file */
  "GET /sessions/{sid}/files/{name}": {
    params: { sid: string | number; name: string | number };
    answer: never;
    refusals: Plain<404 | 502>;
  };
  /** Read a small screenshot, a few seconds old at most */
  "GET /sessions/{sid}/preview.jpg": {
    params: { sid: string | number };
    answer: never;
    refusals: Plain<404 | 422 | 502 | 503 | 504>;
  };
  /** List all hosts with their settings */
  "GET /hosts": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof HostList>;
    refusals: Plain<422 | 503>;
  };
  /** Read all recipes and settings of a host */
  "GET /hosts/{host}": {
    params: { host: string | number };
    answer: z.output<typeof Host>;
    refusals: Plain<404 | 503>;
  };
  /** Replace all settings of a host; without `cookies`, the stored ones stay */
  "PUT /hosts/{host}": {
    params: { host: string | number };
    json: z.input<typeof PutHost>;
    answer: z.output<typeof Host>;
    refusals: Plain<400 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Forget a host with its recipes and cookies */
  "DELETE /hosts/{host}": {
    params: { host: string | number };
    answer: null;
    refusals: Plain<404 | 409 | 413 | 422 | 503>;
  };
  /** Append a recipe; creates the host when it does not exist */
  "POST /hosts/{host}/recipes": {
    params: { host: string | number };
    json: z.input<typeof Recipe>;
    answer: z.output<typeof Host>;
    refusals: Plain<400 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Remove the recipe at an index, counted from 0 */
  "DELETE /hosts/{host}/recipes/{index}": {
    params: { host: string | number; index: string | number };
    answer: z.output<typeof Host>;
    refusals: Plain<404 | 409 | 413 | 422 | 503>;
  };
  /** Set the login recipe; creates the host when it does not exist */
  "PUT /hosts/{host}/login_recipe": {
    params: { host: string | number };
    json: z.input<typeof LoginRecipe>;
    answer: z.output<typeof Host>;
    refusals: Plain<400 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Replace the cookies of a host; the value *** keeps a stored one */
  "PUT /hosts/{host}/cookies": {
    params: { host: string | number };
    json: z.input<typeof PutHostCookies>;
    answer: z.output<typeof Host>;
    refusals: Plain<400 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Add or replace cookies, as the browser extension does */
  "POST /hosts/cookies/sync": {
    json: z.input<typeof SyncCookies>;
    answer: z.output<typeof SyncedCookies>;
    refusals: Plain<400 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Viewer page of a session, for any iframe */
  "GET /sessions/{sid}/novnc": {
    params: { sid: string | number };
    query?: { path?: string; autoconnect?: boolean; resize?: string; reconnect?: boolean; view_only?: boolean; password?: string; host?: string; port?: string };
    answer: never;
    refusals: Plain<404 | 502>;
  };
  /** WebSocket: VNC byte stream of a session */
  "GET /sessions/{sid}/novnc/websockify": {
    params: { sid: string | number };
    query?: { view_only?: boolean };
    answer: never;
    refusals: Plain<404 | 426>;
  };
  /** WebSocket: the session's browser over the DevTools protocol */
  "GET /sessions/{sid}/cdp": {
    params: { sid: string | number };
    answer: never;
    refusals: Plain<403 | 404 | 426 | 502>;
  };
  /** Discovery: where the browser's WebSocket is */
  "GET /sessions/{sid}/cdp/json/version": {
    params: { sid: string | number };
    answer: Record<string, string>;
    refusals: Plain<404 | 502>;
  };
  /** Discovery: the targets of the session's browser */
  "GET /sessions/{sid}/cdp/json/list": {
    params: { sid: string | number };
    answer: Record<string, unknown>[];
    refusals: Plain<404 | 502>;
  };
  /** Discovery: open a tab */
  "PUT /sessions/{sid}/cdp/json/new": {
    params: { sid: string | number };
    answer: Record<string, unknown>;
    refusals: Plain<403 | 404 | 422 | 502>;
  };
  /** Discovery: bring a tab to the front */
  "GET /sessions/{sid}/cdp/json/activate/{target}": {
    params: { sid: string | number; target: string | number };
    answer: never;
    refusals: Plain<403 | 404 | 422 | 502>;
  };
  /** Discovery: close a tab */
  "GET /sessions/{sid}/cdp/json/close/{target}": {
    params: { sid: string | number; target: string | number };
    answer: never;
    refusals: Plain<403 | 404 | 422 | 502>;
  };
  /** WebSocket: open a session for the length of the connection */
  "GET /cdp": {
    query?: { url?: string; use_profile?: string; headless?: string; idle_ttl_s?: string; ttl_s?: string; worker_id?: string; dialog_policy?: string; record?: string; egress?: string; proxy?: string; replay?: string; replay_clock?: string; trace?: string; capture?: string; user_agent?: string; locale?: string; timezone?: string; color_scheme?: string; viewport?: string; device?: string; geolocation?: string; permissions?: string; extra_headers?: string; init_scripts?: string; javascript?: string; ignore_https_errors?: string; certificate_authorities?: string; max_download_bytes?: string; http_credentials?: string; block?: string; reconnect_s?: string; token?: string; session?: string };
    answer: never;
    refusals: Plain<400 | 403 | 404 | 409 | 422 | 426 | 502 | 503 | 504>;
  };
  /** Discovery: where a WebSocket opens a session */
  "GET /cdp/json/version": {
    query?: { url?: string; use_profile?: string; headless?: string; idle_ttl_s?: string; ttl_s?: string; worker_id?: string; dialog_policy?: string; record?: string; egress?: string; proxy?: string; replay?: string; replay_clock?: string; trace?: string; capture?: string; user_agent?: string; locale?: string; timezone?: string; color_scheme?: string; viewport?: string; device?: string; geolocation?: string; permissions?: string; extra_headers?: string; init_scripts?: string; javascript?: string; ignore_https_errors?: string; certificate_authorities?: string; max_download_bytes?: string; http_credentials?: string; block?: string; reconnect_s?: string; token?: string; session?: string };
    answer: Record<string, string>;
    refusals: Plain<422>;
  };
  /** WebDriver: open a session for a Selenium client */
  "POST /session": {
    json: { capabilities?: Record<string, unknown> };
    answer: { value: unknown };
    refusals: { 400: { value: { error: string; message: string; stacktrace: string } }; 401: { value: { error: string; message: string; stacktrace: string } }; 403: { value: { error: string; message: string; stacktrace: string } }; 404: { value: { error: string; message: string; stacktrace: string } }; 405: { value: { error: string; message: string; stacktrace: string } }; 429: { value: { error: string; message: string; stacktrace: string } }; 500: { value: { error: string; message: string; stacktrace: string } }; 502: { value: { error: string; message: string; stacktrace: string } }; 503: { value: { error: string; message: string; stacktrace: string } } };
  };
  /** WebDriver: end the session and its browser */
  "DELETE /session/{sid}": {
    params: { sid: string | number };
    answer: { value: unknown };
    refusals: { 400: { value: { error: string; message: string; stacktrace: string } }; 401: { value: { error: string; message: string; stacktrace: string } }; 403: { value: { error: string; message: string; stacktrace: string } }; 404: { value: { error: string; message: string; stacktrace: string } }; 405: { value: { error: string; message: string; stacktrace: string } }; 429: { value: { error: string; message: string; stacktrace: string } }; 500: { value: { error: string; message: string; stacktrace: string } }; 502: { value: { error: string; message: string; stacktrace: string } }; 503: { value: { error: string; message: string; stacktrace: string } } };
  };
  /** WebDriver: a command that reads */
  "GET /session/{sid}/{command}": {
    params: { sid: string | number; command: string | number };
    answer: { value: unknown };
    refusals: { 400: { value: { error: string; message: string; stacktrace: string } }; 401: { value: { error: string; message: string; stacktrace: string } }; 403: { value: { error: string; message: string; stacktrace: string } }; 404: { value: { error: string; message: string; stacktrace: string } }; 405: { value: { error: string; message: string; stacktrace: string } }; 429: { value: { error: string; message: string; stacktrace: string } }; 500: { value: { error: string; message: string; stacktrace: string } }; 502: { value: { error: string; message: string; stacktrace: string } }; 503: { value: { error: string; message: string; stacktrace: string } } };
  };
  /** WebDriver: a command that acts */
  "POST /session/{sid}/{command}": {
    params: { sid: string | number; command: string | number };
    json: Record<string, unknown>;
    answer: { value: unknown };
    refusals: { 400: { value: { error: string; message: string; stacktrace: string } }; 401: { value: { error: string; message: string; stacktrace: string } }; 403: { value: { error: string; message: string; stacktrace: string } }; 404: { value: { error: string; message: string; stacktrace: string } }; 405: { value: { error: string; message: string; stacktrace: string } }; 429: { value: { error: string; message: string; stacktrace: string } }; 500: { value: { error: string; message: string; stacktrace: string } }; 502: { value: { error: string; message: string; stacktrace: string } }; 503: { value: { error: string; message: string; stacktrace: string } } };
  };
  /** WebDriver: a command that removes */
  "DELETE /session/{sid}/{command}": {
    params: { sid: string | number; command: string | number };
    answer: { value: unknown };
    refusals: { 400: { value: { error: string; message: string; stacktrace: string } }; 401: { value: { error: string; message: string; stacktrace: string } }; 403: { value: { error: string; message: string; stacktrace: string } }; 404: { value: { error: string; message: string; stacktrace: string } }; 405: { value: { error: string; message: string; stacktrace: string } }; 429: { value: { error: string; message: string; stacktrace: string } }; 500: { value: { error: string; message: string; stacktrace: string } }; 502: { value: { error: string; message: string; stacktrace: string } }; 503: { value: { error: string; message: string; stacktrace: string } } };
  };
  /** WebDriver: can a session be opened? */
  "GET /status": {
    answer: { value: unknown };
  };
  /** Create a link that opens one thing for a limited time, without a token */
  "POST /links": {
    json: z.input<typeof CreateSignedLink>;
    answer: z.output<typeof SignedLink>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** End every signed link created so far (administrator) */
  "DELETE /links": {
    answer: null;
    refusals: Plain<401 | 403 | 429 | 503>;
  };
  /** List the assets that a link opens */
  "GET /links/{link}/assets.json": {
    params: { link: string | number };
    answer: z.output<typeof AssetList>;
    refusals: Plain<403 | 404 | 410>;
  };
  /** Read an asset body that a link opens */
  "GET /links/{link}/assets/{name}": {
    params: { link: string | number; name: string | number };
    answer: never;
    refusals: Plain<403 | 404 | 410 | 416>;
  };
  /** Viewer page of the session that a link opens, for any iframe */
  "GET /links/{link}": {
    params: { link: string | number };
    query?: { path?: string; autoconnect?: boolean; resize?: string; reconnect?: boolean; view_only?: boolean; password?: string; host?: string; port?: string };
    answer: never;
    refusals: Plain<403 | 404 | 410 | 502>;
  };
  /** WebSocket: VNC byte stream of the session that a link opens */
  "GET /links/{link}/websockify": {
    params: { link: string | number };
    query?: { view_only?: boolean };
    answer: never;
    refusals: Plain<403 | 404 | 410 | 426>;
  };
  /** WebSocket: the browser that a link opens, over the DevTools protocol */
  "GET /links/{link}/cdp": {
    params: { link: string | number };
    answer: never;
    refusals: Plain<403 | 404 | 410 | 426 | 502>;
  };
  /** Discovery: where the browser's WebSocket is */
  "GET /links/{link}/cdp/json/version": {
    params: { link: string | number };
    answer: Record<string, string>;
    refusals: Plain<403 | 404 | 410 | 502>;
  };
  /** WebSocket: the worker's link */
  "GET /workers/{worker_id}/link": {
    params: { worker_id: string | number };
    answer: never;
    refusals: Plain<403 | 404 | 426>;
  };
  /** Upload a captured body */
  "PUT /workers/{worker_id}/jobs/{job_id}/assets/{name}": {
    params: { worker_id: string | number; job_id: string | number; name: string | number };
    body: CallBody;
    answer: { name: string; size: number; sha256: string };
    refusals: Plain<400 | 401 | 409 | 413 | 422>;
  };
  /** Upload several small captured bodies at once */
  "PUT /workers/{worker_id}/jobs/{job_id}/assets": {
    params: { worker_id: string | number; job_id: string | number };
    body: CallBody;
    answer: { items: ({ name: string; size: number; sha256: string } | { name: string; error: { status: number; detail: string | ({ loc: (string | number)[]; msg: string; type: string })[] } })[] };
    refusals: Plain<400 | 401 | 409 | 413 | 422>;
  };
  /** Upload page.html, screenshot.png, thumbnail.webp, links.json, trace.zip or har.json */
  "PUT /workers/{worker_id}/jobs/{job_id}/documents/{name}": {
    params: { worker_id: string | number; job_id: string | number; name: string | number };
    body: CallBody;
    answer: { name: string; size: number; sha256: string };
    refusals: Plain<400 | 401 | 409 | 413 | 422>;
  };
  /** Ask for permission to put a captured body into the object store */
  "POST /workers/{worker_id}/jobs/{job_id}/direct-uploads": {
    params: { worker_id: string | number; job_id: string | number };
    json: z.input<typeof DirectUploadBody>;
    answer: z.output<typeof DirectUpload>;
    refusals: Plain<400 | 401 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Report that the body is in the object store */
  "PUT /workers/{worker_id}/jobs/{job_id}/direct-uploads/{upload_id}": {
    params: { worker_id: string | number; job_id: string | number; upload_id: string | number };
    json: z.input<typeof DirectUploadDone>;
    answer: { name: string; size: number; sha256: string };
    refusals: Plain<400 | 401 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Read what is recorded of a job */
  "GET /jobs/{id}/recording": {
    params: { id: string | number };
    answer: { state: "live" | "whole" | "cut"; mode: z.output<typeof RecordMode>; job_id: string | null; session_id: string; started_at: string; ended_at: string | null; end_reason: string | null; ms: number; bytes: number; width: number | null; height: number | null; events: number; requests: number; chunks: { at_ms: number; ms: number; offset: number; length: number; width: number; height: number }[] };
    refusals: Plain<404 | 503>;
  };
  /** Read the bytes of the recording of a job */
  "GET /jobs/{id}/recording/data": {
    params: { id: string | number };
    answer: never;
    refusals: Plain<404 | 416 | 503>;
  };
  /** List the events in the recording of a job */
  "GET /jobs/{id}/recording/events": {
    params: { id: string | number };
    query?: { after_ms?: number };
    answer: { items: (({ type: "start"; at: string; of: "job" | "session"; id: string; mode: z.output<typeof RecordMode>; screen: "headful" | "headless"; unheard?: string[] } | { type: "hears"; kinds: string[] } | { type: "stage"; stage: string; text?: string } | { type: "navigation"; url: string; status?: number; tab?: string } | { type: "action"; name: string; arguments?: Record<string, unknown>; ms: number; outcome: "done" | "failed"; error?: string; box?: { x: number; y: number; width: number; height: number }; tab?: string; by?: "api" | "script" | "recipe" | "agent" } | { type: "step"; of: "recipe" | "script" | "agent"; text: string; reason?: string; outcome?: "done" | "failed"; box?: { x: number; y: number; width: number; height: number } } | z.output<(typeof VIEWER_EVENTS)["0"]> | z.output<(typeof VIEWER_EVENTS)["1"]> | { type: "cdp"; state: "connected" | "disconnected"; by?: string } | { type: "tab"; state: "opened" | "closed" | "active"; tab: string; url?: string } | { type: "dialog"; state: "opened" | "accepted" | "dismissed"; kind: string; text?: string; by?: string } | { type: "download"; state: "began" | "completed" | "failed"; name: string; url?: string; bytes?: number } | { type: "console"; level: string; text: string; url?: string; line?: number; column?: number } | { type: "error"; text: string; url?: string; line?: number; column?: number } | { type: "request_failed"; url: string; error: string; resource?: string; source?: string; line?: number; column?: number } | { type: "note"; level: "info" | "warn"; text: string }) & { at_ms: number })[]; more: boolean };
    refusals: Plain<404 | 422 | 503>;
  };
  /** Read what is recorded of a session, also of one that has ended */
  "GET /sessions/{sid}/recording": {
    params: { sid: string | number };
    answer: { state: "live" | "whole" | "cut"; mode: z.output<typeof RecordMode>; job_id: string | null; session_id: string; started_at: string; ended_at: string | null; end_reason: string | null; ms: number; bytes: number; width: number | null; height: number | null; events: number; requests: number; chunks: { at_ms: number; ms: number; offset: number; length: number; width: number; height: number }[] };
    refusals: Plain<404 | 503>;
  };
  /** Read the bytes of the recording of a session, also of one that has ended */
  "GET /sessions/{sid}/recording/data": {
    params: { sid: string | number };
    answer: never;
    refusals: Plain<404 | 416 | 503>;
  };
  /** Read what a session requested */
  "GET /sessions/{sid}/har.json": {
    params: { sid: string | number };
    query?: { after_ms?: number };
    answer: z.output<typeof Har>;
    refusals: Plain<404 | 422 | 503>;
  };
  /** List the events in the recording of a session, also of one that has ended */
  "GET /sessions/{sid}/recording/events": {
    params: { sid: string | number };
    query?: { after_ms?: number };
    answer: { items: (({ type: "start"; at: string; of: "job" | "session"; id: string; mode: z.output<typeof RecordMode>; screen: "headful" | "headless"; unheard?: string[] } | { type: "hears"; kinds: string[] } | { type: "stage"; stage: string; text?: string } | { type: "navigation"; url: string; status?: number; tab?: string } | { type: "action"; name: string; arguments?: Record<string, unknown>; ms: number; outcome: "done" | "failed"; error?: string; box?: { x: number; y: number; width: number; height: number }; tab?: string; by?: "api" | "script" | "recipe" | "agent" } | { type: "step"; of: "recipe" | "script" | "agent"; text: string; reason?: string; outcome?: "done" | "failed"; box?: { x: number; y: number; width: number; height: number } } | z.output<(typeof VIEWER_EVENTS)["0"]> | z.output<(typeof VIEWER_EVENTS)["1"]> | { type: "cdp"; state: "connected" | "disconnected"; by?: string } | { type: "tab"; state: "opened" | "closed" | "active"; tab: string; url?: string } | { type: "dialog"; state: "opened" | "accepted" | "dismissed"; kind: string; text?: string; by?: string } | { type: "download"; state: "began" | "completed" | "failed"; name: string; url?: string; bytes?: number } | { type: "console"; level: string; text: string; url?: string; line?: number; column?: number } | { type: "error"; text: string; url?: string; line?: number; column?: number } | { type: "request_failed"; url: string; error: string; resource?: string; source?: string; line?: number; column?: number } | { type: "note"; level: "info" | "warn"; text: string }) & { at_ms: number })[]; more: boolean };
    refusals: Plain<404 | 422 | 503>;
  };
  /** Make a video of the recording of a job */
  "POST /jobs/{id}/recording/exports": {
    params: { id: string | number };
    json: { format: "mp4" | "webm"; speed?: number };
    answer: { id: string; format: "mp4" | "webm"; speed: number; status: "queued" | "running" | "done" | "failed"; progress: number; error: string | null; bytes: number | null; created_at: string };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** List the videos of the recording of a job */
  "GET /jobs/{id}/recording/exports": {
    params: { id: string | number };
    query?: { limit?: number; cursor?: string };
    answer: { items: ({ id: string; format: "mp4" | "webm"; speed: number; status: "queued" | "running" | "done" | "failed"; progress: number; error: string | null; bytes: number | null; created_at: string })[]; next_cursor: string | null };
    refusals: Plain<404 | 422 | 503>;
  };
  /** Read the recording of a job as an MP4 file */
  "GET /jobs/{id}/recording/video.mp4": {
    params: { id: string | number };
    answer: never;
    refusals: Plain<404 | 409 | 416 | 503>;
  };
  /** Read the recording of a job as a WebM file */
  "GET /jobs/{id}/recording/video.webm": {
    params: { id: string | number };
    answer: never;
    refusals: Plain<404 | 409 | 416 | 503>;
  };
  /** Make a video of the recording of a session */
  "POST /sessions/{sid}/recording/exports": {
    params: { sid: string | number };
    json: { format: "mp4" | "webm"; speed?: number };
    answer: { id: string; format: "mp4" | "webm"; speed: number; status: "queued" | "running" | "done" | "failed"; progress: number; error: string | null; bytes: number | null; created_at: string };
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** List the videos of the recording of a session */
  "GET /sessions/{sid}/recording/exports": {
    params: { sid: string | number };
    query?: { limit?: number; cursor?: string };
    answer: { items: ({ id: string; format: "mp4" | "webm"; speed: number; status: "queued" | "running" | "done" | "failed"; progress: number; error: string | null; bytes: number | null; created_at: string })[]; next_cursor: string | null };
    refusals: Plain<404 | 422 | 503>;
  };
  /** Read the recording of a session as an MP4 file */
  "GET /sessions/{sid}/recording/video.mp4": {
    params: { sid: string | number };
    answer: never;
    refusals: Plain<404 | 409 | 416 | 503>;
  };
  /** Read the recording of a session as a WebM file */
  "GET /sessions/{sid}/recording/video.webm": {
    params: { sid: string | number };
    answer: never;
    refusals: Plain<404 | 409 | 416 | 503>;
  };
  /** Add to the recording of a running job */
  "PUT /workers/{worker_id}/jobs/{job_id}/recording": {
    params: { worker_id: string | number; job_id: string | number };
    query: { offset: string };
    body: CallBody;
    answer: { length: number };
    refusals: Plain<400 | 401 | 409 | 413 | 422 | 503>;
  };
  /** Add to the recording of an open session */
  "PUT /workers/{worker_id}/sessions/{session_id}/recording": {
    params: { worker_id: string | number; session_id: string | number };
    query: { offset: string };
    body: CallBody;
    answer: { length: number };
    refusals: Plain<400 | 401 | 409 | 413 | 422 | 503>;
  };
  /** Upload the Playwright trace of a session */
  "PUT /workers/{worker_id}/sessions/{session_id}/trace": {
    params: { worker_id: string | number; session_id: string | number };
    body: CallBody;
    answer: { name: string; size: number; sha256: string };
    refusals: Plain<400 | 401 | 404 | 413 | 422 | 503>;
  };
  /** Download the Playwright trace of a session that has ended */
  "GET /sessions/{sid}/trace.zip": {
    params: { sid: string | number };
    answer: never;
    refusals: Plain<404 | 416 | 503>;
  };
  /** Read a small picture of a session that has ended */
  "GET /sessions/{sid}/thumbnail.webp": {
    params: { sid: string | number };
    answer: never;
    refusals: Plain<404 | 503>;
  };
  /** Upload a body that a session's pages received */
  "PUT /workers/{worker_id}/sessions/{session_id}/bodies": {
    params: { worker_id: string | number; session_id: string | number };
    query: { mime: string };
    body: CallBody;
    answer: { name: string; size: number; sha256: string };
    refusals: Plain<400 | 401 | 404 | 413 | 422 | 503>;
  };
  /** Read a body that a session's pages received */
  "GET /sessions/{sid}/bodies/{sha256}": {
    params: { sid: string | number; sha256: string | number };
    answer: never;
    refusals: Plain<404 | 416 | 422 | 503>;
  };
  /** The program's sources, as workers fetch them */
  "GET /worker-source.tar.gz": {
    query?: { for?: string };
    answer: never;
    refusals: Plain<422 | 503>;
  };
  /** How to install the cookie-sync extension */
  "GET /profiles/extension/install": {
    answer: never;
  };
  /** The cookie-sync extension as a zip */
  "GET /profiles/extension.zip": {
    answer: never;
  };
  /** A file of the unpacked cookie-sync extension */
  "GET /profiles/extension/files/{name}": {
    params: { name: string | number };
    answer: never;
    refusals: Plain<404>;
  };
  /** List profiles */
  "GET /profiles": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof ProfileList>;
    refusals: Plain<422 | 503>;
  };
  /** Show the default profile */
  "GET /profiles/default": {
    answer: z.output<typeof DefaultProfile>;
    refusals: Plain<503>;
  };
  /** Clear the default profile */
  "DELETE /profiles/default": {
    answer: z.output<typeof DefaultProfile>;
    refusals: Plain<409 | 413 | 422 | 503>;
  };
  /** Read the metadata of a profile */
  "GET /profiles/{name}": {
    params: { name: string | number };
    answer: z.output<typeof Profile>;
    refusals: Plain<404 | 503>;
  };
  /** Delete a profile */
  "DELETE /profiles/{name}": {
    params: { name: string | number };
    answer: null;
    refusals: Plain<404 | 409 | 413 | 422 | 503>;
  };
  /** Make this the default profile */
  "POST /profiles/{name}/default": {
    params: { name: string | number };
    answer: z.output<typeof DefaultProfile>;
    refusals: Plain<404 | 409 | 413 | 422 | 503>;
  };
  /** Store a profile */
  "POST /profiles/{name}": {
    params: { name: string | number };
    body?: CallBody;
    answer: z.output<typeof Profile>;
    refusals: Plain<400 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Store the session's browser profile */
  "POST /sessions/{sid}/profile/save": {
    params: { sid: string | number };
    json: z.input<typeof SaveProfile>;
    answer: z.output<typeof Profile>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 502 | 503 | 504>;
  };
  /** The archive of one version of a profile */
  "GET /workers/{worker_id}/profiles/{name}/{sha256}": {
    params: { worker_id: string | number; name: string | number; sha256: string | number };
    answer: never;
    refusals: Plain<401 | 404 | 503>;
  };
  /** Upload the profile of a session that is being saved */
  "PUT /workers/{worker_id}/sessions/{session_id}/profile/{name}": {
    params: { worker_id: string | number; session_id: string | number; name: string | number };
    body: CallBody;
    answer: z.output<typeof Profile>;
    refusals: Plain<401 | 404 | 409 | 413 | 422 | 503>;
  };
  /** What a job's capture answers, a ReplayEntry as JSON on each line */
  "GET /workers/{worker_id}/replays/{job_id}": {
    params: { worker_id: string | number; job_id: string | number };
    answer: never;
    refusals: Plain<401 | 404 | 503>;
  };
  /** A body of a job's capture */
  "GET /workers/{worker_id}/replays/{job_id}/bodies/{name}": {
    params: { worker_id: string | number; job_id: string | number; name: string | number };
    answer: never;
    refusals: Plain<401 | 404 | 503>;
  };
  /** List all engines */
  "GET /engines": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof EngineList>;
    refusals: Plain<422 | 503>;
  };
  /** Read an engine */
  "GET /engines/{slug}": {
    params: { slug: string | number };
    answer: z.output<typeof Engine>;
    refusals: Plain<404 | 503>;
  };
  /** Create or replace an engine */
  "PUT /engines/{slug}": {
    params: { slug: string | number };
    json: z.input<typeof PutEngine>;
    answer: z.output<typeof Engine>;
    refusals: Plain<400 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Delete an engine */
  "DELETE /engines/{slug}": {
    params: { slug: string | number };
    answer: null;
    refusals: Plain<404 | 409 | 413 | 422 | 503>;
  };
  /** Make this the engine that `auto` prefers */
  "POST /engines/{slug}/promote": {
    params: { slug: string | number };
    answer: z.output<typeof Engine>;
    refusals: Plain<404 | 409 | 413 | 422 | 503>;
  };
  /** Everything a worker needs to call an engine, including its key */
  "GET /engines/{slug}/resolve": {
    params: { slug: string | number };
    query?: { purpose?: "codegen" | "judge" | "ask" | "agent" };
    answer: z.output<typeof ResolvedEngine>;
    refusals: Plain<401 | 403 | 404 | 422 | 503>;
  };
  /** List all presets */
  "GET /presets": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof PresetList>;
    refusals: Plain<422 | 503>;
  };
  /** Read a preset */
  "GET /presets/{slug}": {
    params: { slug: string | number };
    answer: z.output<typeof Preset>;
    refusals: Plain<404 | 503>;
  };
  /** Create or replace a preset */
  "PUT /presets/{slug}": {
    params: { slug: string | number };
    json: z.input<typeof PutPreset>;
    answer: z.output<typeof Preset>;
    refusals: Plain<400 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Delete a preset */
  "DELETE /presets/{slug}": {
    params: { slug: string | number };
    answer: null;
    refusals: Plain<404 | 409 | 413 | 422 | 503>;
  };
  /** List all skills */
  "GET /skills": {
    query?: { limit?: number; cursor?: string; host?: string; tag?: string };
    answer: z.output<typeof SkillList>;
    refusals: Plain<422 | 503>;
  };
  /** Read a skill */
  "GET /skills/{slug}": {
    params: { slug: string | number };
    answer: z.output<typeof Skill>;
    refusals: Plain<404 | 503>;
  };
  /** Create or replace a skill */
  "PUT /skills/{slug}": {
    params: { slug: string | number };
    json: z.input<typeof PutSkill>;
    answer: z.output<typeof Skill>;
    refusals: Plain<400 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Delete a skill */
  "DELETE /skills/{slug}": {
    params: { slug: string | number };
    answer: null;
    refusals: Plain<404 | 409 | 413 | 422 | 503>;
  };
  /** List all conventions */
  "GET /conventions": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof ConventionList>;
    refusals: Plain<422 | 503>;
  };
  /** Read a convention */
  "GET /conventions/{slug}": {
    params: { slug: string | number };
    answer: z.output<typeof Convention>;
    refusals: Plain<404 | 503>;
  };
  /** Create or replace a convention */
  "PUT /conventions/{slug}": {
    params: { slug: string | number };
    json: z.input<typeof PutConvention>;
    answer: z.output<typeof Convention>;
    refusals: Plain<400 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Delete a convention */
  "DELETE /conventions/{slug}": {
    params: { slug: string | number };
    answer: null;
    refusals: Plain<404 | 409 | 413 | 422 | 503>;
  };
  /** The fleet's current settings, and what each key means */
  "GET /settings": {
    answer: z.output<typeof FleetSettings>;
    refusals: Plain<503>;
  };
  /** Change some of the settings; null restores the default */
  "PATCH /settings": {
    json: z.input<typeof PatchFleetSettings>;
    answer: z.output<typeof FleetSettings>;
    refusals: Plain<400 | 401 | 409 | 413 | 415 | 422 | 429 | 503>;
  };
  /** List the tokens with roles */
  "GET /tokens": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof TokenList>;
    refusals: Plain<401 | 403 | 422 | 429 | 503>;
  };
  /** Create a token with a role */
  "POST /tokens": {
    json: z.input<typeof CreateToken>;
    answer: z.output<typeof CreatedToken>;
    refusals: Plain<400 | 401 | 403 | 409 | 413 | 415 | 422 | 429 | 503>;
  };
  /** Revoke a token and the logins that came from it */
  "DELETE /tokens/{id}": {
    params: { id: string | number };
    answer: null;
    refusals: Plain<401 | 403 | 404 | 409 | 429 | 503>;
  };
  /** List who changed what, newest first (administrator) */
  "GET /audit": {
    query?: { who?: string; method?: string; route?: string; status?: string; since?: string; until?: string; limit?: number; cursor?: string };
    answer: z.output<typeof AuditPage>;
    refusals: Plain<401 | 403 | 422 | 429 | 503>;
  };
  /** List the saved lists, of one page or of all */
  "GET /api/v1/saved-lists": {
    query?: { page?: "jobs" | "runs" | "tasks" | "sessions" | "hosts" };
    answer: z.output<typeof SavedLists>;
    refusals: Plain<422 | 503>;
  };
  /** Save a list with its filters under a name, for everybody */
  "PUT /api/v1/saved-lists/{page}/{name}": {
    params: { page: string | number; name: string | number };
    json: z.input<typeof PutSavedList>;
    answer: z.output<typeof SavedList>;
    refusals: Plain<400 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Forget a saved list */
  "DELETE /api/v1/saved-lists/{page}/{name}": {
    params: { page: string | number; name: string | number };
    answer: null;
    refusals: Plain<404 | 422 | 503>;
  };
  /** Send a message of the Model Context Protocol */
  "POST /mcp": {
    json: { jsonrpc: "2.0"; id?: string | number; method?: string; params?: Record<string, unknown>; [key: string]: unknown };
    answer: null;
    refusals: Plain<400 | 404 | 413 | 415 | 422 | 503>;
  };
  /** End a session of the Model Context Protocol */
  "DELETE /mcp": {
    answer: null;
    refusals: Plain<400 | 404>;
  };
  /** The admin UI, or where to go from here */
  "GET /": {
    answer: { name: string; version: string; links: Record<string, string> };
  };
  /** Health of the control plane */
  "GET /api/v1/health": {
    answer: z.output<typeof ControlHealth>;
    refusals: { 503: z.output<typeof ControlHealth> };
  };
  /** What runs here */
  "GET /api/v1/status": {
    answer: z.output<typeof ControlStatus>;
  };
  /** List workloads */
  "GET /api/v1/workloads": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof WorkloadList>;
    refusals: Plain<422>;
  };
  /** Create a workload */
  "POST /api/v1/workloads": {
    query?: { check?: boolean };
    json: z.input<typeof WorkloadCreate>;
    answer: z.output<typeof CreatedWorkload>;
    refusals: Plain<400 | 409 | 413 | 415 | 422>;
  };
  /** Have a worker load the workload's code */
  "POST /api/v1/workloads/{slug}/check": {
    params: { slug: string | number };
    json?: z.input<typeof CheckExecutor>;
    answer: z.output<typeof ExecutorCheck>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 504>;
  };
  /** Read a workload */
  "GET /api/v1/workloads/{slug}": {
    params: { slug: string | number };
    answer: z.output<typeof Workload>;
    refusals: Plain<404>;
  };
  /** Replace a workload's settings */
  "PUT /api/v1/workloads/{slug}": {
    params: { slug: string | number };
    json: z.input<typeof WorkloadUpdate>;
    answer: z.output<typeof Workload>;
    refusals: Plain<400 | 404 | 409 | 412 | 413 | 415 | 422>;
  };
  /** Switch a workload on or off */
  "PATCH /api/v1/workloads/{slug}/enabled": {
    params: { slug: string | number };
    json: z.input<typeof SetEnabled>;
    answer: z.output<typeof Workload>;
    refusals: Plain<400 | 404 | 409 | 412 | 413 | 415 | 422>;
  };
  /** Allow or forbid the supervisor to intervene */
  "PATCH /api/v1/workloads/{slug}/supervisor_enabled": {
    params: { slug: string | number };
    json: z.input<typeof SetSupervisorEnabled>;
    answer: z.output<typeof Workload>;
    refusals: Plain<400 | 404 | 409 | 412 | 413 | 415 | 422>;
  };
  /** Delete a workload and its queue; its runs stay */
  "DELETE /api/v1/workloads/{slug}": {
    params: { slug: string | number };
    query?: { force?: boolean };
    answer: null;
    refusals: Plain<400 | 404 | 409 | 413 | 422>;
  };
  /** Have a worker try settings that are not saved */
  "POST /api/v1/workloads/check": {
    json: z.input<typeof CheckDraft>;
    answer: z.output<typeof ExecutorCheck>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 503 | 504>;
  };
  /** List the versions of a workload's code */
  "GET /api/v1/workloads/{slug}/versions": {
    params: { slug: string | number };
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof WorkloadVersionList>;
    refusals: Plain<404 | 422>;
  };
  /** Read a version of a workload's code */
  "GET /api/v1/workloads/{slug}/versions/{version}": {
    params: { slug: string | number; version: string | number };
    answer: z.output<typeof WorkloadVersionCode>;
    refusals: Plain<404 | 422>;
  };
  /** Roll a workload back to a version of its code */
  "POST /api/v1/workloads/{slug}/versions/{version}/restore": {
    params: { slug: string | number; version: string | number };
    json?: z.input<typeof RestoreVersion>;
    answer: z.output<typeof Workload>;
    refusals: Plain<400 | 404 | 409 | 412 | 413 | 415 | 422>;
  };
  /** When a cron expression is due */
  "GET /api/v1/schedules/preview": {
    query: { schedule: string; schedule_tz?: string; n?: number };
    answer: z.output<typeof SchedulePreview>;
    refusals: Plain<422>;
  };
  /** Submit a task */
  "POST /api/v1/workloads/{slug}/tasks": {
    params: { slug: string | number };
    json: z.input<typeof TaskIn>;
    answer: z.output<typeof SubmitResult>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Submit up to 10,000 tasks */
  "POST /api/v1/workloads/{slug}/tasks/batch": {
    params: { slug: string | number };
    json: z.input<typeof TaskBatch>;
    answer: z.output<typeof SubmitResult>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Count the tasks in the queue */
  "GET /api/v1/workloads/{slug}/queue": {
    params: { slug: string | number };
    answer: z.output<typeof QueueCounts>;
    refusals: Plain<404>;
  };
  /** List queue rows, oldest first */
  "GET /api/v1/workloads/{slug}/queue/peek": {
    params: { slug: string | number };
    query?: { state?: "pending" | "claimed" | "failed" | "ready" | "delayed"; limit?: number; offset?: number; cursor?: string; label?: string | readonly string[] };
    answer: z.output<typeof QueuePeek>;
    refusals: Plain<404 | 422>;
  };
  /** Retry all failed tasks */
  "POST /api/v1/workloads/{slug}/queue/reset-failed": {
    params: { slug: string | number };
    answer: z.output<typeof ResetFailed>;
    refusals: Plain<400 | 404 | 409 | 413 | 422>;
  };
  /** Remove a pending or failed task, cancel a claimed one */
  "DELETE /api/v1/workloads/{slug}/queue/{pk}": {
    params: { slug: string | number; pk: string | number };
    answer: null;
    refusals: Plain<400 | 404 | 409 | 413 | 422>;
  };
  /** Read a task with its attempts */
  "GET /api/v1/workloads/{slug}/tasks/{pk}": {
    params: { slug: string | number; pk: string | number };
    answer: z.output<typeof TaskHistory>;
    refusals: Plain<404 | 422>;
  };
  /** Retry one failed task */
  "POST /api/v1/workloads/{slug}/queue/{pk}/reset": {
    params: { slug: string | number; pk: string | number };
    answer: null;
    refusals: Plain<400 | 404 | 409 | 413 | 422>;
  };
  /** Submit the rows of a CSV or JSONL file as tasks */
  "POST /api/v1/workloads/{slug}/tasks/import": {
    params: { slug: string | number };
    query?: { format?: "csv" | "jsonl"; key?: string; columns?: string; typed?: boolean; dry_run?: boolean; skip_faults?: boolean; preview?: number };
    body?: CallBody;
    answer: z.output<typeof ImportResult>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Runs of a workload, newest first */
  "GET /api/v1/workloads/{slug}/runs": {
    params: { slug: string | number };
    query?: { limit?: number; before?: number; cursor?: string; success?: boolean; pk?: string; outcome?: "success" | "error" | "timeout" | "lease_expired" | "crashed" | "cancelled"; worker_id?: string; label?: string | readonly string[]; since?: string; until?: string; fingerprint?: string; brief?: boolean };
    answer: z.output<typeof RunList>;
    refusals: Plain<404 | 422>;
  };
  /** Runs of all workloads, newest first */
  "GET /api/v1/runs": {
    query?: { limit?: number; before?: number; cursor?: string; success?: boolean; pk?: string; outcome?: "success" | "error" | "timeout" | "lease_expired" | "crashed" | "cancelled"; worker_id?: string; label?: string | readonly string[]; since?: string; until?: string; fingerprint?: string; brief?: boolean };
    answer: z.output<typeof RunList>;
    refusals: Plain<422>;
  };
  /** Read the task of a run, with all its attempts */
  "GET /api/v1/runs/{run_id}/task": {
    params: { run_id: string | number };
    answer: z.output<typeof TaskHistory>;
    refusals: Plain<404 | 422>;
  };
  /** Read a run */
  "GET /api/v1/runs/{run_id}": {
    params: { run_id: string | number };
    answer: z.output<typeof Run>;
    refusals: Plain<404 | 422>;
  };
  /** Read the state of up to 10,000 tasks */
  "POST /api/v1/workloads/{slug}/tasks/status": {
    params: { slug: string | number };
    json: z.input<typeof TaskStatusQuery>;
    answer: z.output<typeof TaskStatus>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Failed runs in groups, by what they have in common */
  "GET /api/v1/failures": {
    query?: { workload?: string; fingerprint?: string; worker?: string; since?: string; until?: string; text?: string; sort?: "last_seen" | "count"; buckets?: number; limit?: number; cursor?: string };
    answer: z.output<typeof FailureList>;
    refusals: Plain<404 | 422>;
  };
  /** Retry the failed tasks that a filter finds */
  "POST /api/v1/workloads/{slug}/tasks/retry": {
    params: { slug: string | number };
    json: z.input<typeof TaskSelection>;
    answer: z.output<typeof TaskChanges>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Cancel the pending and claimed tasks that a filter finds */
  "POST /api/v1/workloads/{slug}/tasks/cancel": {
    params: { slug: string | number };
    json: z.input<typeof TaskSelection>;
    answer: z.output<typeof TaskChanges>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Delete the failed tasks that a filter finds */
  "POST /api/v1/workloads/{slug}/tasks/delete": {
    params: { slug: string | number };
    json: z.input<typeof TaskSelection>;
    answer: z.output<typeof TaskChanges>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Move the tasks that a filter finds to another workload's queue */
  "POST /api/v1/workloads/{slug}/tasks/move": {
    params: { slug: string | number };
    json: z.input<typeof TaskMove>;
    answer: z.output<typeof TaskChanges>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Retry the failed tasks of a group, in all workloads */
  "POST /api/v1/failures/retry": {
    json: z.input<typeof FailureSelection>;
    answer: z.output<typeof TaskChanges>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Cancel the pending and claimed tasks whose last attempt failed like this group */
  "POST /api/v1/failures/cancel": {
    json: z.input<typeof FailureSelection>;
    answer: z.output<typeof TaskChanges>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Delete the failed tasks of a group, in all workloads */
  "POST /api/v1/failures/delete": {
    json: z.input<typeof FailureSelection>;
    answer: z.output<typeof TaskChanges>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Move the tasks of a group to another workload's queue */
  "POST /api/v1/failures/move": {
    json: z.input<typeof FailureMove>;
    answer: z.output<typeof TaskChanges>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Static file of a plugin's pages */
  "GET /api/v1/plugins/{slug}/web/{path}": {
    params: { slug: string | number; path: string | number };
    answer: never;
    refusals: Plain<400 | 404 | 409 | 416>;
  };
  /** List the plugins, broken ones with their errors */
  "GET /api/v1/plugins/available": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof PluginList>;
    refusals: Plain<422 | 503>;
  };
  /** Download a plugin's folder as tar.gz */
  "GET /api/v1/plugins/{slug}/archive": {
    params: { slug: string | number };
    answer: never;
    refusals: Plain<404 | 409>;
  };
  /** Read a state value of a plugin */
  "GET /api/v1/plugins/{slug}/state/{key}": {
    params: { slug: string | number; key: string | number };
    answer: z.output<typeof PluginState>;
    refusals: Plain<400 | 404 | 422>;
  };
  /** Store a state value of a plugin */
  "PUT /api/v1/plugins/{slug}/state/{key}": {
    params: { slug: string | number; key: string | number };
    json: unknown;
    answer: z.output<typeof PluginState>;
    refusals: Plain<400 | 409 | 412 | 413 | 415 | 422 | 503>;
  };
  /** Delete a state value of a plugin */
  "DELETE /api/v1/plugins/{slug}/state/{key}": {
    params: { slug: string | number; key: string | number };
    answer: null;
    refusals: Plain<400 | 404 | 409 | 413 | 422 | 503>;
  };
  /** Read a blob of a plugin */
  "GET /api/v1/plugins/{slug}/blob/{key}": {
    params: { slug: string | number; key: string | number };
    answer: never;
    refusals: Plain<400 | 404 | 416 | 422 | 503>;
  };
  /** Store a blob of a plugin */
  "PUT /api/v1/plugins/{slug}/blob/{key}": {
    params: { slug: string | number; key: string | number };
    body: CallBody;
    answer: z.output<typeof PluginBlob>;
    refusals: Plain<400 | 409 | 413 | 422 | 503 | 504>;
  };
  /** Delete a blob of a plugin */
  "DELETE /api/v1/plugins/{slug}/blob/{key}": {
    params: { slug: string | number; key: string | number };
    answer: null;
    refusals: Plain<400 | 404 | 409 | 413 | 422 | 503>;
  };
  /** List the state keys of a plugin */
  "GET /api/v1/plugins/{slug}/state": {
    params: { slug: string | number };
    query?: { prefix?: string; limit?: number; cursor?: string };
    answer: z.output<typeof PluginStateList>;
    refusals: Plain<404 | 422>;
  };
  /** List the blobs of a plugin */
  "GET /api/v1/plugins/{slug}/blob": {
    params: { slug: string | number };
    query?: { prefix?: string; limit?: number; cursor?: string };
    answer: z.output<typeof PluginBlobList>;
    refusals: Plain<404 | 422>;
  };
  /** Read an object of the object store */
  "GET /api/v1/minio/{key}": {
    params: { key: string | number };
    answer: never;
    refusals: Plain<400 | 404 | 416>;
  };
  /** Read the CPU use of workers, of hosts and of the busiest host */
  "GET /api/v1/workers/cpu": {
    answer: z.output<typeof WorkersCpu>;
  };
  /** Read CPU and GPU use by minute */
  "GET /api/v1/workers/metrics": {
    query?: { minutes?: number };
    answer: z.output<typeof GpuMetrics>;
    refusals: Plain<422>;
  };
  /** Read what runs, what failed recently and how long the queues are */
  "GET /api/v1/dashboard/overview": {
    answer: z.output<typeof DashboardOverview>;
  };
  /** Read the results of the last 20 runs of every workload */
  "GET /api/v1/dashboard/workloads-runs-summary": {
    answer: z.output<typeof RunsSummary>;
  };
  /** Read the flow graph: sources, workloads, plugins, workers and the tasks between them */
  "GET /api/v1/flow/snapshot": {
    answer: z.output<typeof FlowSnapshot>;
  };
  /** Read events per minute, for at most 2,880 minutes */
  "GET /api/v1/flow/rates": {
    query?: { since_min?: number; slug?: string; metric?: "" | "submitted" | "claimed" | "succeeded" | "failed" | "expired" | "emitted" };
    answer: z.output<typeof FlowRates>;
    refusals: Plain<404 | 422>;
  };
  /** Save positions of nodes of the flow graph */
  "POST /api/v1/flow/layout": {
    json: z.input<typeof FlowLayout>;
    answer: z.output<typeof FlowLayout>;
    refusals: Plain<400 | 409 | 413 | 415 | 422>;
  };
  /** Delete every saved position of the flow graph */
  "DELETE /api/v1/flow/layout": {
    answer: z.output<typeof FlowLayout>;
    refusals: Plain<409 | 422>;
  };
  /** Find workloads, tasks, runs, pull workers and host agents by a few words */
  "GET /api/v1/search": {
    query: { q: string; limit?: number };
    answer: z.output<typeof SearchResult>;
    refusals: Plain<422 | 503>;
  };
  /** List pull workers */
  "GET /api/v1/workers": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof PullWorkerList>;
    refusals: Plain<422>;
  };
  /** Change which workloads a worker runs */
  "POST /api/v1/workers/{id}/filter": {
    params: { id: string | number };
    json: z.input<typeof ChangeFilter>;
    answer: z.output<typeof PullWorker>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422>;
  };
  /** A worker's process starts */
  "POST /api/v1/workers/{id}/register": {
    params: { id: string | number };
    json: z.input<typeof RegisterPull>;
    answer: z.output<typeof RegisteredPull>;
    refusals: Plain<400 | 401 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Renew the leases */
  "POST /api/v1/workers/{id}/heartbeat": {
    params: { id: string | number };
    json: z.input<typeof PullHeartbeat>;
    answer: z.output<typeof PullHeartbeatAnswer>;
    refusals: Plain<400 | 401 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Claim tasks; waits for work */
  "POST /api/v1/workers/{id}/claim": {
    params: { id: string | number };
    json: z.input<typeof ClaimTasks>;
    answer: z.output<typeof Claimed>;
    refusals: Plain<400 | 401 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Report tasks that succeeded */
  "POST /api/v1/workers/{id}/complete": {
    params: { id: string | number };
    json: z.input<typeof CompleteTasks>;
    answer: z.output<typeof Reported>;
    refusals: Plain<400 | 401 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Report tasks that failed */
  "POST /api/v1/workers/{id}/fail": {
    params: { id: string | number };
    json: z.input<typeof FailTasks>;
    answer: z.output<typeof Reported>;
    refusals: Plain<400 | 401 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Report and claim in one call */
  "POST /api/v1/workers/{id}/exchange": {
    params: { id: string | number };
    json: z.input<typeof Exchange>;
    answer: z.output<typeof Exchanged>;
    refusals: Plain<400 | 401 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Take no new tasks */
  "POST /api/v1/workers/{id}/drain": {
    params: { id: string | number };
    json: { incarnation: string; leaving?: boolean };
    answer: { ok: true };
    refusals: Plain<400 | 401 | 404 | 409 | 413 | 415 | 422 | 503>;
  };
  /** Tell a worker to drain, resume, recycle its processes, or stop */
  "POST /api/v1/workers/{id}/admin-command": {
    params: { id: string | number };
    json: z.input<typeof AdminCommand>;
    answer: z.output<typeof WorkerCommand>;
    refusals: Plain<400 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Read what a worker should do; waits for a change */
  "POST /api/v1/workers/{id}/config": {
    params: { id: string | number };
    json: z.input<typeof ConfigPoll>;
    answer: z.output<typeof WorkerConfig>;
    refusals: Plain<400 | 401 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Report what running tasks printed last */
  "POST /api/v1/workers/{id}/runs/logs": {
    params: { id: string | number };
    json: z.input<typeof LiveLogs>;
    answer: { ok: true };
    refusals: Plain<400 | 401 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Report the result of loading a workload's code */
  "POST /api/v1/workers/{id}/checks": {
    params: { id: string | number };
    json: z.input<typeof AnswerCheck>;
    answer: { ok: true };
    refusals: Plain<400 | 401 | 404 | 409 | 413 | 415 | 422>;
  };
  /** Read what a worker runs now, with the end of its output */
  "GET /api/v1/workers/{id}/runs": {
    params: { id: string | number };
    answer: z.output<typeof LiveRuns>;
    refusals: Plain<404>;
  };
  /** List the tasks that a worker holds, with the end of each lease */
  "GET /api/v1/workers/{id}/leases": {
    params: { id: string | number };
    answer: z.output<typeof Leases>;
    refusals: Plain<404>;
  };
  /** List hosts with an agent */
  "GET /api/v1/agents": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof AgentList>;
    refusals: Plain<422>;
  };
  /** Report as an agent and learn what should run */
  "POST /api/v1/agents/{host}/sync": {
    params: { host: string | number };
    json: z.input<typeof SyncAgent>;
    answer: z.output<typeof AgentSynced>;
    refusals: Plain<400 | 401 | 409 | 413 | 415 | 422>;
  };
  /** List worker instances: what should run and what does */
  "GET /api/v1/workers/elastic/inventory": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof InstanceInventory>;
    refusals: Plain<422>;
  };
  /** Start worker instances on a host with an agent (administrator) */
  "POST /api/v1/workers/elastic/spawn": {
    json: z.input<typeof SpawnInstances>;
    answer: z.output<typeof InstanceList>;
    refusals: Plain<400 | 401 | 403 | 409 | 413 | 415 | 422 | 429 | 503>;
  };
  /** Restart a worker on its host over SSH (administrator) */
  "POST /api/v1/workers/{id}/restart": {
    params: { id: string | number };
    answer: z.output<typeof RestartAsked>;
    refusals: Plain<401 | 403 | 404 | 409 | 429>;
  };
  /** Stop worker instances after what they run (administrator) */
  "POST /api/v1/workers/elastic/stop": {
    json: z.input<typeof StopInstances>;
    answer: z.output<typeof InstancesStopped>;
    refusals: Plain<400 | 401 | 403 | 404 | 409 | 413 | 415 | 422 | 429 | 503>;
  };
  /** Read what the supervisor last saw and did about a workload */
  "GET /api/v1/workloads/{slug}/supervisor": {
    params: { slug: string | number };
    answer: z.output<typeof Supervision>;
    refusals: Plain<404>;
  };
  /** List settings with their effective values; secrets masked */
  "GET /api/v1/settings": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof SettingList>;
    refusals: Plain<422>;
  };
  /** Store a setting; it takes effect immediately (administrator) */
  "PUT /api/v1/settings/{key}": {
    params: { key: string | number };
    json: z.input<typeof PutSetting>;
    answer: z.output<typeof Setting>;
    refusals: Plain<400 | 401 | 403 | 404 | 409 | 413 | 415 | 422 | 429>;
  };
  /** Go back to a setting's default (administrator) */
  "DELETE /api/v1/settings/{key}": {
    params: { key: string | number };
    answer: null;
    refusals: Plain<401 | 403 | 404 | 409 | 429>;
  };
  /** Test an LLM engine */
  "POST /api/v1/settings/llm/test": {
    json: z.input<typeof LlmTest>;
    answer: z.output<typeof LlmTested>;
    refusals: Plain<400 | 401 | 403 | 404 | 413 | 415 | 422 | 429 | 503>;
  };
  /** What hubs, control planes and workers logged, newest first */
  "GET /api/v1/service-logs": {
    query?: { host?: string; service?: string; min_level?: "debug" | "info" | "warn" | "error"; q?: string; since?: string; until?: string; after?: number; limit?: number; cursor?: string };
    answer: z.output<typeof LogPage>;
    refusals: Plain<422>;
  };
  /** Send a worker's log lines */
  "POST /api/v1/service-logs": {
    json: z.input<typeof ShipLogs>;
    answer: z.output<typeof LogsShipped>;
    refusals: Plain<400 | 401 | 413 | 415 | 422 | 503>;
  };
  /** Run the configured deploy command for a target; one at a time (administrator) */
  "POST /api/v1/admin/deploy": {
    json: z.input<typeof StartDeploy>;
    answer: z.output<typeof DeployStarted>;
    refusals: Plain<400 | 401 | 403 | 409 | 413 | 415 | 422 | 429>;
  };
  /** Deploys with their output, newest first (administrator) */
  "GET /api/v1/admin/deploy": {
    query?: { limit?: number; cursor?: string };
    answer: z.output<typeof DeployList>;
    refusals: Plain<401 | 403 | 422 | 429>;
  };
  /** Read which version the workers should have, and their progress */
  "GET /api/v1/updates": {
    answer: z.output<typeof FleetUpdates>;
  };
  /** Pause updates: no further worker changes its version (administrator) */
  "POST /api/v1/updates/pause": {
    answer: z.output<typeof FleetUpdates>;
    refusals: Plain<401 | 403 | 429 | 503>;
  };
  /** Continue paused updates (administrator) */
  "POST /api/v1/updates/resume": {
    answer: z.output<typeof FleetUpdates>;
    refusals: Plain<401 | 403 | 429 | 503>;
  };
  /** Approve a roll-out that stopped or waits for approval (administrator) */
  "POST /api/v1/updates/approve": {
    json: z.input<typeof ApproveUpdate>;
    answer: z.output<typeof FleetUpdates>;
    refusals: Plain<400 | 401 | 403 | 409 | 413 | 415 | 422 | 429 | 503>;
  };
  /** Pin the fleet, or one worker, to a version (administrator) */
  "POST /api/v1/updates/pin": {
    json: z.input<typeof PinUpdate>;
    answer: z.output<typeof FleetUpdates>;
    refusals: Plain<400 | 401 | 403 | 404 | 413 | 415 | 422 | 429 | 503>;
  };
  /** The guide */
  "GET /guide": {
    answer: never;
  };
  /** Search the guide */
  "GET /guide/search": {
    query?: { q?: string };
    answer: { query: string; results: { title: string; page: string; url: string; excerpt: string }[] };
    refusals: Plain<422>;
  };
  /** The guide's pages for language models */
  "GET /llms.txt": {
    answer: never;
  };
  /** Submit the URL given as the path, with default options */
  "GET /{target_url}": {
    params: { target_url: string | number };
    answer: z.output<typeof Job>;
    refusals: Plain<403 | 404 | 422> & { 503: z.output<typeof TooBusy> };
  };
  /** Submit the URL that follows, with the options of a preset */
  "GET /presets/{slug}/{target_url}": {
    params: { slug: string | number; target_url: string | number };
    answer: z.output<typeof Job>;
    refusals: Plain<403 | 404 | 422> & { 503: z.output<typeof TooBusy> };
  };
}

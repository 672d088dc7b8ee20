/** What the server sends to the app with its page. */
export interface AppInfo {
  version: string;
  mode: string;
  /** Whether the server has the browser fleet beside the pipeline. */
  fleet: boolean;
}

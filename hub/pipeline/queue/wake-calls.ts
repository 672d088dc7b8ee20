/** Notifies the other control processes; the sweeper and the regular look at workers make up for lost messages. */
export interface Wakes {
  ready(workload_id: number, n: number): void;
  freed(workload_id: number, places: number): void;
  workloads(): void;
  worker(worker_id: string): void;
}

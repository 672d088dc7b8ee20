CREATE TABLE "job_proxies" (
	"job_id" text PRIMARY KEY NOT NULL,
	"proxy" jsonb NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "hosts" ADD COLUMN "proxy" jsonb;
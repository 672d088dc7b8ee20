CREATE TABLE "cpu_minutes" (
	"minute" bigint NOT NULL,
	"host" text NOT NULL,
	"cpu_percent" double precision NOT NULL,
	CONSTRAINT "cpu_minutes_minute_host_pk" PRIMARY KEY("minute","host")
);

import { useTranslation } from "react-i18next";
import { useServer } from "../../api/shaping/settings.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { byteSize, count, longTime, preciseDuration } from "../../text/time.ts";
import { Facts } from "../facts.tsx";
import { Backups, McpFacts } from "./server-parts.tsx";

/** How the process, its database and its queue are. */
export function ServerView() {
  const { t } = useTranslation(manage);
  const { data, error, refetch, dataUpdatedAt, isFetching } = useServer();
  if (data === undefined) {
    return error === null ? <Loading lines={8} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  const { database, disk, runs, graphs, problems } = data;
  const sizes = Object.values(database.bytes);
  return (
    <div className="shaping-view">
      <div className="row-between">
        <p className="hint">{t("server.asOf", { time: longTime(new Date(dataUpdatedAt).toISOString()) })}</p>
        <Button size="small" disabled={isFetching} onClick={() => void refetch()}>
          {t("model.lookAgain")}
        </Button>
      </div>
      {problems.map((problem) => (
        <p key={problem} className="problem" role="alert">
          {visible(problem)}
        </p>
      ))}
      <Facts
        title={t("server.process")}
        rows={[
          [t("server.version"), `Millrace ${data.version} · Node ${data.node}`],
          [t("server.uptime"), preciseDuration(data.uptime_seconds * 1_000)],
          [t("server.memory"), byteSize(data.memory_bytes)],
          [t("server.late"), preciseDuration(data.event_loop_delay_ms)],
        ]}
      />
      <Facts
        title={t("server.runs")}
        rows={[
          [t("server.running"), t("server.of", { count: runs.running, of: count(runs.slots) })],
          [t("server.waiting"), t("server.of", { count: runs.waiting, of: count(runs.queue_limit) })],
          [t("server.oldest"), runs.waiting === 0 ? "–" : preciseDuration(runs.oldest_waiting_seconds * 1_000)],
        ]}
      />
      <Facts
        title={t("server.storage")}
        rows={[
          [t("server.database"), database.kind === "sqlite" ? "SQLite" : "PostgreSQL"],
          [t("server.size"), sizes.length === 0 ? "–" : byteSize(sizes.reduce((sum, bytes) => sum + bytes, 0))],
          [
            t("server.disk"),
            disk === null
              ? "–"
              : t("server.freeOf", { free: byteSize(disk.free_bytes), total: byteSize(disk.total_bytes) }),
          ],
        ]}
      />
      <Facts
        title={t("server.graphs")}
        rows={[
          [t("server.served"), visible(graphs.served.join(", ")) || "–"],
          ...graphs.not_served.map(({ graph_id, message }) => [visible(graph_id), visible(message)] as const),
        ]}
      />
      <McpFacts />
      <Backups kind={database.kind} />
    </div>
  );
}

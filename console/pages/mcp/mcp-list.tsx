import { useTranslation } from "react-i18next";
import { useMcpServers } from "../../api/shaping/mcp.ts";
import { visible } from "../../markdown/links.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListEntry } from "../list-and-one.tsx";

/** All MCP servers, each with its state. */
export function McpList({ current, onOpen }: { current: string | undefined; onOpen: (name: string) => void }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useMcpServers();
  if (data === undefined) {
    return error === null ? <Loading lines={4} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  if (data.length === 0) return <p className="hint">{t("mcp.empty")}</p>;
  return (
    <ul>
      {data.map(({ name, state, problem }) => (
        <li key={name}>
          <ListEntry
            title={visible(name)}
            isHere={name === current}
            chip={problem === null ? t(`mcp.state.${state}`) : t("mcp.unusable")}
            onOpen={() => onOpen(name)}
          />
        </li>
      ))}
    </ul>
  );
}

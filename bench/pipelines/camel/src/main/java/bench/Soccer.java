package bench;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.camel.Exchange;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.model.dataformat.CsvDataFormat;

/** Events of a soccer match, and where players stood: the same as examples/soccer. */
final class Soccer extends RouteBuilder {
    private static final int MINUTE = 600; // tenths of a second
    private static final CsvDataFormat PER_MINUTE =
            Endpoints.csvWithNames("period", "time", "playerId", "posX", "posY");

    public record Event(int period, int time, String eventCode, int pId) {}

    public record Position(int period, int time, int playerId, double posX, double posY) {}

    public record Player(String firstN, String lastN) {}

    public record OfPlayer(int period, int time, int pId, String firstN, String lastN) {}

    public record Shot(int period, int time, String firstN, String lastN, double posX, double posY) {}

    private record Moment(int period, int time, int pId) {}

    private final Endpoints at;

    Soccer(String folder) {
        this.at = new Endpoints(folder);
    }

    @Override
    public void configure() {
        from(at.source("gameEvents.json"))
                .unmarshal(Endpoints.jsonOf(Event.class))
                .setProperty("events", body())
                .pollEnrich(at.source("playerInfo.csv"))
                .unmarshal(Endpoints.csvRows())
                .setBody(Soccer::players)
                .setProperty("players", body())
                .pollEnrich(at.source("playerPosition.json"))
                .unmarshal(Endpoints.jsonOf(Position.class))
                .multicast()
                .to("direct:goals", "direct:atBall", "direct:atShot", "direct:perMinute");
        from("direct:goals").setBody(exchange -> events(exchange, "Goal")).marshal().json().to(at.goal("goals.json"));
        from("direct:atBall")
                .setBody(exchange -> events(exchange, "BallReception"))
                .marshal()
                .json()
                .to(at.goal("playersAtBall.json"));
        from("direct:atShot").setBody(Soccer::shots).marshal().json().to(at.goal("positionAtShotOnGoal.json"));
        from("direct:perMinute")
                .setBody(Soccer::perMinute)
                .marshal(PER_MINUTE)
                .to(at.goal("positionsPerMinute.csv"));
    }

    private static Map<Integer, Player> players(Exchange exchange) {
        Map<Integer, Player> found = new HashMap<>();
        for (Map<String, String> row : FactRoutes.rowsOf(exchange)) {
            found.put(Integer.valueOf(row.get("pId")), new Player(row.get("firstN"), row.get("lastN")));
        }
        return found;
    }

    /** Events of a kind, with the names of players. */
    @SuppressWarnings("unchecked")
    private static List<OfPlayer> events(Exchange exchange, String code) {
        List<Event> events = exchange.getProperty("events", List.class);
        Map<Integer, Player> players = exchange.getProperty("players", Map.class);
        return events.stream()
                .filter(event -> event.eventCode().equals(code) && players.containsKey(event.pId()))
                .map(event -> ofPlayer(event, players.get(event.pId())))
                .toList();
    }

    private static OfPlayer ofPlayer(Event event, Player player) {
        return new OfPlayer(event.period(), event.time(), event.pId(), player.firstN(), player.lastN());
    }

    /** Where players stood who shot a goal. */
    private static List<Shot> shots(Exchange exchange) {
        Map<Moment, OfPlayer> goals = new HashMap<>();
        for (OfPlayer goal : events(exchange, "Goal")) {
            goals.put(new Moment(goal.period(), goal.time(), goal.pId()), goal);
        }
        return FactRoutes.bodyOf(exchange, Position.class).stream()
                .filter(position -> goals.containsKey(moment(position)))
                .map(position -> shot(goals.get(moment(position)), position))
                .toList();
    }

    private static Moment moment(Position position) {
        return new Moment(position.period(), position.time(), position.playerId());
    }

    private static Shot shot(OfPlayer goal, Position position) {
        return new Shot(
                goal.period(), goal.time(), goal.firstN(), goal.lastN(), position.posX(), position.posY());
    }

    /** Positions at full minutes, up to the first minute without any. */
    private static List<Map<String, Object>> perMinute(Exchange exchange) {
        List<Position> positions = FactRoutes.bodyOf(exchange, Position.class).stream()
                .filter(position -> position.time() >= MINUTE && position.time() % MINUTE == 0)
                .toList();
        Set<Integer> minutes =
                positions.stream().map(position -> position.time() / MINUTE).collect(Collectors.toSet());
        int last = 0;
        while (minutes.contains(last + 1)) {
            last++;
        }
        int end = last;
        return positions.stream()
                .filter(position -> position.time() / MINUTE <= end)
                .map(Soccer::row)
                .toList();
    }

    private static Map<String, Object> row(Position position) {
        return Map.of(
                "period", position.period(),
                "time", position.time() / MINUTE,
                "playerId", position.playerId(),
                "posX", position.posX(),
                "posY", position.posY());
    }
}

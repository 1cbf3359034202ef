package bench;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.camel.Exchange;
import org.apache.camel.Predicate;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.model.ProcessorDefinition;
import org.apache.camel.model.dataformat.CsvDataFormat;

/** Routes over facts, which come in one of three forms. */
abstract class FactRoutes extends RouteBuilder {
    static final CsvDataFormat CSV = Endpoints.csvWithNames("matching", "count");
    static final Predicate SOME = exchange -> !exchange.getMessage().getBody(List.class).isEmpty();

    final Endpoints at;
    private final String form;

    FactRoutes(String form, String folder) {
        this.at = new Endpoints(folder);
        this.form = form;
    }

    @Override
    public final void configure() {
        switch (form) {
            case "lines" -> lines(from(at.source("facts.jsonl")).split(body().tokenize("\n")).streaming());
            case "json" -> json(from(at.source("facts.json")).unmarshal(Endpoints.jsonOf(Fact.class)));
            case "csv" -> csv(from(at.source("facts.csv")).unmarshal(Endpoints.csvRows()));
            default -> throw new IllegalArgumentException(form);
        }
    }

    /** Each line is a message, with one fact in JSON. */
    abstract void lines(ProcessorDefinition<?> messages);

    /** A message has all facts, as a list of them. */
    abstract void json(ProcessorDefinition<?> message);

    /** A message has all facts, as a list of maps of text. */
    abstract void csv(ProcessorDefinition<?> message);

    /** Those facts of a message that match, or that do not. */
    static Function<Exchange, List<Fact>> facts(boolean matching) {
        return exchange -> bodyOf(exchange, Fact.class).stream()
                .filter(fact -> fact.matches() == matching)
                .toList();
    }

    static Function<Exchange, List<Map<String, String>>> rows(boolean matching) {
        return exchange -> rowsOf(exchange).stream()
                .filter(row -> row.get("matching").equals("true") == matching)
                .toList();
    }

    @SuppressWarnings("unchecked")
    static <T> List<T> bodyOf(Exchange exchange, Class<T> type) {
        return exchange.getMessage().getBody(List.class);
    }

    @SuppressWarnings("unchecked")
    static List<Map<String, String>> rowsOf(Exchange exchange) {
        return exchange.getMessage().getBody(List.class);
    }
}

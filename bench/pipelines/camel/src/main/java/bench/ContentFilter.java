package bench;

import java.util.List;
import org.apache.camel.Exchange;
import org.apache.camel.model.ProcessorDefinition;
import org.apache.camel.model.dataformat.CsvDataFormat;

/** Of facts that match, the count goes on alone. */
final class ContentFilter extends FactRoutes {
    private static final CsvDataFormat COUNTS = Endpoints.csvWithNames("count");

    ContentFilter(String form, String folder) {
        super(form, folder);
    }

    @Override
    void lines(ProcessorDefinition<?> messages) {
        messages.unmarshal()
                .json(Fact.class)
                .filter(exchange -> factOf(exchange).matches())
                .setBody(exchange -> factOf(exchange).counted())
                .marshal()
                .json()
                .to(at.growing("counts.jsonl"));
    }

    @Override
    void json(ProcessorDefinition<?> message) {
        message.setBody(facts(true))
                .setBody(ContentFilter::counts)
                .filter(SOME)
                .marshal()
                .json()
                .to(at.goal("counts.json"));
    }

    @Override
    void csv(ProcessorDefinition<?> message) {
        message.setBody(rows(true)).filter(SOME).marshal(COUNTS).to(at.goal("counts.csv"));
    }

    private static Fact factOf(Exchange exchange) {
        return exchange.getMessage().getBody(Fact.class);
    }

    private static List<Fact.Count> counts(Exchange exchange) {
        return bodyOf(exchange, Fact.class).stream().map(Fact::counted).toList();
    }
}

"""The root of the exception tree.

DemaqError
    XQuerySyntaxError     (demaq.xquery)    a text is not XQuery
    SaxonError            (demaq.xquery)    the XQuery engine refused a query
    ApplicationNotFound   (demaq.language)  there is no application at that place
    ApplicationInvalid    (demaq.language)  an application has errors
"""


class DemaqError(Exception):
    """The base of everything that Demaq raises on purpose."""
